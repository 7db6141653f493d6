// tests/odr/foreign_macros.hpp: what headers of Linux, X11 and Qt define, which tokamax must not use as names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

// glibc: <complex.h> and <sys/sysmacros.h>
#undef I
#define I _Complex_I
#undef major
#undef minor
#undef makedev
#define major(device) gnu_dev_major(device)
#define minor(device) gnu_dev_minor(device)
#define makedev(first, second) gnu_dev_makedev(first, second)
#undef unix
#undef linux
#define unix 1
#define linux 1

// X11/X.h, X11/Xlib.h and X11/Xutil.h
#define Above 0
#define Always 2
#define Below 1
#define Bool int
#define BottomIf 3
#define Button1 1
#define Complex 0
#define ControlMask (1 << 2)
#define Convex 2
#define CurrentTime 0L
#define CursorShape 0
#define DestroyAll 0
#define Expose 12
#define False 0
#define FocusIn 9
#define FocusOut 10
#define GrabModeSync 0
#define InputOnly 2
#define KeyPress 2
#define KeyRelease 3
#define LASTEvent 36
#define LineSolid 0
#define NoSymbol 0L
#define None 0L
#define Nonconvex 1
#define NotUseful 0
#define Opposite 4
#define RectangleIn 1
#define RevertToParent 2
#define SelectionClear 29
#define Status int
#define Success 0
#define TopIf 2
#define True 1
#define Unsorted 0
#define WhenMapped 1
#define XYBitmap 0
#define YXBanded 3
#define ZPixmap 2

// QtCore/qtmetamacros.h and qforeach.h
#define emit
#define foreach(variable, container) for (variable : container)
#define forever for (;;)
#define signals public
#define slots
