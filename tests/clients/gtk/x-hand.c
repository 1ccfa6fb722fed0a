/* x-hand.c - a hand at the keyboard of a program under X
 *
 *   x-hand keys KEYSYM TIMES MSEC   presses a key so often, so long apart
 *   x-hand close                    asks every window to close, as the button
 *                                   in its frame would
 *
 * There is no window manager: the keyboard is given to the largest window.
 *
 * SPDX-License-Identifier: MIT
 */
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <X11/extensions/XTest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Calls for each window that is on the screen. */
typedef void (*Act) (Display *display, Window window, void *data);

static void
each_window (Display *display, Act act, void *data)
{
  Window root, parent, *windows = NULL;
  unsigned n = 0;

  XQueryTree (display, DefaultRootWindow (display), &root, &parent, &windows,
              &n);
  for (unsigned i = 0; i < n; i++)
    {
      XWindowAttributes attributes;

      if (XGetWindowAttributes (display, windows[i], &attributes)
          && attributes.map_state == IsViewable
          && attributes.class == InputOutput)
        act (display, windows[i], data);
    }
  XFree (windows);
}

typedef struct
{
  Window window;
  unsigned long area;
} Largest;

static void
compare (Display *display, Window window, void *data)
{
  Largest *largest = data;
  XWindowAttributes attributes;
  unsigned long area;

  XGetWindowAttributes (display, window, &attributes);
  area = (unsigned long) attributes.width * (unsigned long) attributes.height;
  if (area > largest->area)
    *largest = (Largest){ window, area };
}

static int
press (Display *display, const char *name, int n_times, int pause_msec)
{
  Largest largest = { None, 0 };
  KeyCode key = XKeysymToKeycode (display, XStringToKeysym (name));

  each_window (display, compare, &largest);
  if (key == 0 || largest.window == None)
    {
      fprintf (stderr, "x-hand: %s\n", key == 0 ? "no such key" : "no window");
      return 1;
    }
  XSetInputFocus (display, largest.window, RevertToPointerRoot, CurrentTime);
  for (int i = 0; i < n_times; i++)
    {
      XTestFakeKeyEvent (display, key, True, CurrentTime);
      XTestFakeKeyEvent (display, key, False, CurrentTime);
      XFlush (display);
      usleep ((useconds_t) pause_msec * 1000);
    }
  return 0;
}

static void
ask_to_close (Display *display, Window window, void *data)
{
  XEvent event;

  memset (&event, 0, sizeof event);
  event.xclient.type = ClientMessage;
  event.xclient.window = window;
  event.xclient.message_type = XInternAtom (display, "WM_PROTOCOLS", False);
  event.xclient.format = 32;
  event.xclient.data.l[0]
      = (long) XInternAtom (display, "WM_DELETE_WINDOW", False);
  event.xclient.data.l[1] = CurrentTime;
  XSendEvent (display, window, False, NoEventMask, &event);
  ++*(int *) data;
}

int
main (int argc, char **argv)
{
  Display *display = XOpenDisplay (NULL);
  int n_closed = 0, status = 0;

  if (display == NULL)
    {
      fprintf (stderr, "x-hand: no display\n");
      return 1;
    }
  if (argc == 5 && strcmp (argv[1], "keys") == 0)
    status = press (display, argv[2], atoi (argv[3]), atoi (argv[4]));
  else if (argc == 2 && strcmp (argv[1], "close") == 0)
    {
      each_window (display, ask_to_close, &n_closed);
      status = n_closed == 0;
    }
  else
    {
      fprintf (stderr, "usage: x-hand keys KEYSYM TIMES MSEC | close\n");
      status = 2;
    }
  XSync (display, False);
  XCloseDisplay (display);
  return status;
}
