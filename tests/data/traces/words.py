# Counts words, builds a tree, writes and reads JSON: a small script's memory.
import json
import random

random.seed(1)
letters = "abcdefghijklmnopqrstuvwxyz"
words = ["".join(random.choices(letters, k=random.randint(2, 9)))
         for _ in range(2000)]
text = " ".join(random.choice(words) for _ in range(20000))
counts = {}
for word in text.split():
    counts[word] = counts.get(word, 0) + 1


class Node:
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None


def insert(node, key):
    if node is None:
        return Node(key)
    if key < node.key:
        node.left = insert(node.left, key)
    elif key > node.key:
        node.right = insert(node.right, key)
    return node


root = None
for word in counts:
    root = insert(root, word)
table = [{"word": word, "count": count, "lengths": list(range(len(word)))}
         for word, count in sorted(counts.items())]
again = json.loads(json.dumps(table))
print(len(again), sum(entry["count"] for entry in again))
