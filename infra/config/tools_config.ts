import { type StaticDecode, Type } from 'typebox';
import type { Environment } from './config.ts';
import { readSettings } from './read_settings.ts';
import { orNull, text } from './variable.ts';

/** Variables that other programs define too; they are read as they are. */
export const TOOLS = Type.Object({
  javaHome: orNull(
    text('JAVA_HOME', {
      allowed: 'the path of a folder',
      defaultText: 'none',
      description: 'A Java that is looked at before those on the path, and used if it is new enough.',
    }),
  ),
  path: text('PATH', {
    default: '',
    allowed: 'folders, separated by colons',
    defaultText: "the system's",
    description: 'Folders in which `java`, `mvn`, `redis-server` and `python3` are looked for.',
  }),
  noColor: orNull(
    text('NO_COLOR', {
      defaultText: 'none',
      description: "Set to anything, it keeps colours out of the demo's output.",
    }),
  ),
});

export const toolsConfig = (env: Environment): StaticDecode<typeof TOOLS> => readSettings(TOOLS, env);
