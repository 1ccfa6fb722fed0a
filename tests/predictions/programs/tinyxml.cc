// tinyxml.cc - parses a list of people twice, and adds up their years
//
// SPDX-License-Identifier: MIT
#include "tinyxml.h"
#include <cstdio>
#include <string>

int
main ()
{
  std::string text = "<people>\n";
  long sum = 0;

  for (int i = 0; i < 40000; i++)
    {
      char person[160];
      std::snprintf (person, sizeof person,
                     "<person id='%d' sex='f'><name>n%d</name>"
                     "<born year='%d'/></person>\n",
                     i, i % 977, 1900 + i % 100);
      text += person;
    }
  text += "</people>\n";
  for (int round = 0; round < 2; round++)
    {
      TiXmlDocument document;

      document.Parse (text.c_str ());
      for (TiXmlElement *person = document.RootElement ()->FirstChildElement ();
           person != nullptr; person = person->NextSiblingElement ())
        {
          int year = 0;
          person->FirstChildElement ("born")->QueryIntAttribute ("year", &year);
          sum += year;
        }
    }
  std::printf ("%ld\n", sum);
}
