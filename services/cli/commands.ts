import { accountCommands } from './accounts.ts';
import type { Command } from './command.ts';
import { destinationCommands } from './destinations.ts';
import { keyCommands } from './keys.ts';
import { siteCommands } from './sites.ts';

/** Every command that reads or writes settings. */
export const COMMANDS: readonly Command[] = [
  ...accountCommands,
  ...siteCommands,
  ...keyCommands,
  ...destinationCommands,
];
