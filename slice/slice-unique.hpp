/* slice-unique.hpp - std::unique_ptr over slices
 *
 * Public; a part of slice.hpp, which is what to include.
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

namespace slice
{

inline namespace SLICE_FAILURE_V1
{

/** Destroys an object of make_unique() and frees its slice.  T must be the
 * type that it was made with, as the size is not kept. */
template <typename T> struct deleter
{
  void
  operator() (T *object) const noexcept
  {
    typedef typename std::remove_cv<T>::type Plain;
    object->~T ();
    detail::slice_put (const_cast<Plain *> (object), sizeof (T), alignof (T));
  }
};

/** The same of an array, whose length it keeps. */
template <typename T> class deleter<T[]>
{
public:
  explicit deleter (std::size_t n = 0) noexcept : n_ (n)
  {
  }

  /** The array's length. */
  std::size_t
  size () const noexcept
  {
    return n_;
  }

  void
  operator() (T *array) const noexcept
  {
    typedef typename std::remove_cv<T>::type Plain;
    for (std::size_t i = n_; i > 0; i--)
      array[i - 1].~T ();
    detail::slice_put (const_cast<Plain *> (array), n_ * sizeof (T),
                       alignof (T));
  }

private:
  std::size_t n_;
};

/** A std::unique_ptr that frees a slice: the size of a pointer; of an array,
 * of two.  An array's length is get_deleter ().size (). */
template <typename T> using unique_ptr = std::unique_ptr<T, deleter<T>>;

namespace detail
{

/* Frees a block that did not become an object, or an array of which `n` did.
 */
template <typename T> class unfinished
{
public:
  explicit unfinished (std::size_t n_room)
      : n (0), block_ (slice_get (array_bytes (n_room, sizeof (T)),
                                  alignof (T))),
        n_room_ (n_room)
  {
  }
  unfinished (const unfinished &) = delete;
  unfinished &operator= (const unfinished &) = delete;
  ~unfinished ()
  {
    if (block_ == nullptr)
      return;
    while (n > 0)
      static_cast<T *> (block_)[--n].~T ();
    slice_put (block_, n_room_ * sizeof (T), alignof (T));
  }

  void *
  place () const noexcept
  {
    return static_cast<char *> (block_) + n * sizeof (T);
  }

  /* It is the caller's from now on. */
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
  std::size_t n_room_;
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

#endif
