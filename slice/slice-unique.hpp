/* slice-unique.hpp - std::unique_ptr over slices
 *
 * Public; a part of slice.hpp: include that one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_SLICE_UNIQUE_HPP
#define SLICE_SLICE_UNIQUE_HPP

#include <slice/slice-detail.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

SLICE_BEGIN_QUIET_
namespace slice
{

inline namespace SLICE_FAILURE_V1
{

namespace detail
{

/* Destroys an object; the last element of an array first. */
template <typename T>
void
end_object (T &object) noexcept
{
  object.~T ();
}

template <typename T, std::size_t N>
void
end_object (T (&array)[N]) noexcept
{
  for (std::size_t i = N; i > 0; i--)
    end_object (array[i - 1]);
}

/* Destroys the first `n` of the `capacity` objects of a block, the last one
 * first, and frees the block. */
template <typename T>
void
end_block (T *objects, std::size_t n, std::size_t capacity) noexcept
{
  const volatile void *block = objects;
  while (n > 0)
    end_object (objects[--n]);
  slice_put (const_cast<void *> (block), capacity * sizeof (T), alignof (T));
}

/* U is T, or less const: the size is the same. */
template <typename U, typename T>
using if_less_const = typename std::enable_if<
    std::is_same<typename std::remove_cv<U>::type,
                 typename std::remove_cv<T>::type>::value
    && std::is_convertible<U (*)[], T (*)[]>::value>::type;

} // namespace detail

/** Destroys an object of make_unique() and frees its slice.  T must be the
 * type that the object was made with, as its size is not stored. */
template <typename T> struct deleter
{
  deleter () noexcept = default;
  /** Converts a unique_ptr<T> to a unique_ptr<const T>. */
  template <typename U, typename = detail::if_less_const<U, T>>
  deleter (const deleter<U> &) noexcept
  {
  }

  void
  operator() (T *object) const noexcept
  {
    detail::end_block (object, 1, 1);
  }
};

/** The same for an array, whose length it stores.  For an array that
 * make_unique() did not make it is unique_ptr<T[]> (array, deleter<T[]> (n)).
 * Without a length, as in unique_ptr<T[]> (array), it frees the array if T has
 * no destructor to run; for other types that is misuse (103).  reset (array)
 * keeps the length of the previous array. */
template <typename T> struct deleter<T[]>
{
public:
  deleter () noexcept : n_ (unknown)
  {
  }
  explicit deleter (std::size_t n) noexcept : n_ (n)
  {
  }
  template <typename U, typename = detail::if_less_const<U, T>>
  deleter (const deleter<U[]> &other) noexcept : n_ (other.n_)
  {
  }

  /** The array's length; 0 if it is not known. */
  std::size_t
  size () const noexcept
  {
    return n_ == unknown ? 0 : n_;
  }

  void
  operator() (T *array) const noexcept
  {
    if (SLICE_LIKELY (n_ != unknown))
      detail::end_block (array, n_, n_);
    else
      end_unknown (array, std::is_trivially_destructible<T> ());
  }

private:
  template <typename U> friend struct deleter;

  /* No array has this length. */
  static constexpr std::size_t unknown = SIZE_MAX;

  static void
  end_unknown (const volatile void *array, std::true_type) noexcept
  {
    detail::slice_put_unsized (const_cast<void *> (array), alignof (T));
  }

  /* A block of size 0: error 103. */
  static void
  end_unknown (const volatile void *array, std::false_type) noexcept
  {
    slice_free1 (0, const_cast<void *> (array));
  }

  std::size_t n_;
};

/** A std::unique_ptr that frees a slice.  It has the size of a pointer; for an
 * array, of two.  An array's length is get_deleter ().size (). */
template <typename T> using unique_ptr = std::unique_ptr<T, deleter<T>>;

namespace detail
{

/* Frees a block if the object, or all but `n` of an array, could not be
 * constructed. */
template <typename T> class unfinished
{
public:
  explicit unfinished (std::size_t capacity)
      : n (0), block_ (slice_get (array_bytes (capacity, sizeof (T)),
                                  alignof (T))),
        capacity_ (capacity)
  {
  }
  unfinished (const unfinished &) = delete;
  unfinished &operator= (const unfinished &) = delete;
  ~unfinished ()
  {
    if (block_ != nullptr)
      end_block (static_cast<T *> (block_), n, capacity_);
  }

  void *
  place () const noexcept
  {
    return static_cast<char *> (block_) + n * sizeof (T);
  }

  /* Passes the block to the caller. */
  T *
  finished () noexcept
  {
    void *block = block_;
    block_ = nullptr;
    return static_cast<T *> (block);
  }

  std::size_t n;

private:
  void *block_;
  std::size_t capacity_;
};

template <typename T> struct make_unique_of
{
  typedef unique_ptr<T> object;
};
template <typename T> struct make_unique_of<T[]>
{
  typedef unique_ptr<T[]> array;
};
template <typename T, std::size_t N> struct make_unique_of<T[N]>
{
};

} // namespace detail

/** Makes an object in a slice. */
template <typename T, typename... Arguments>
typename detail::make_unique_of<T>::object
make_unique (Arguments &&...arguments)
{
  detail::unfinished<typename std::remove_cv<T>::type> made (1);
  ::new (made.place ()) T (std::forward<Arguments> (arguments)...);
  return unique_ptr<T> (made.finished ());
}

/** Makes an array of n objects in a slice: T is `Element[]`.  They are value-
 * initialised: numbers are 0. */
template <typename T>
typename detail::make_unique_of<T>::array
make_unique (std::size_t n)
{
  typedef typename std::remove_extent<T>::type Element;
  detail::unfinished<typename std::remove_cv<Element>::type> made (n);
  for (; made.n < n; made.n++)
    ::new (made.place ()) Element ();
  return unique_ptr<T> (made.finished (), deleter<T> (n));
}
} // inline namespace

} // namespace slice
SLICE_END_QUIET_

#endif
