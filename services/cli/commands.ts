import { accountCommands } from './accounts.ts';
import { activityCommands } from './activity.ts';
import { actorsCommand } from './actors.ts';
import { analystCommand } from './analyst.ts';
import { analystUserCommands } from './analyst_commands.ts';
import { auditCommands } from './audit.ts';
import type { Command } from './command.ts';
import { correlationCommand } from './correlation_command.ts';
import { deadCommands } from './dead_letters.ts';
import { healthCommand } from './destination_health.ts';
import { destinationCommands } from './destinations.ts';
import { domainCommands } from './domains.ts';
import { engageCommands } from './engage_commands.ts';
import { engageResultCommands } from './engage_results_commands.ts';
import { eventTraceCommand } from './event_command.ts';
import { funnelCommands } from './funnel.ts';
import { keyCommands } from './keys.ts';
import { listingCommands } from './listings.ts';
import { pathsCommand } from './paths.ts';
import { personSplitCommand } from './person_command.ts';
import { queryCommand } from './query_command.ts';
import { refusalsCommand } from './refusals.ts';
import { replayCommands } from './replays.ts';
import { retentionCommand } from './retention.ts';
import { runningQueryCommands } from './running_commands.ts';
import { savedCommands } from './saved_commands.ts';
import { scaffoldCommand } from './scaffold.ts';
import { siteCommands } from './sites.ts';
import { tagHealthCommand } from './tag_health.ts';
import { tokenCommands } from './tokens.ts';
import { topCommand } from './top.ts';
import { trendsCommand } from './trends.ts';
import { userCommands } from './user_commands.ts';

/** Every command that reads or changes settings. */
export const COMMANDS: readonly Command[] = [
  ...accountCommands,
  ...siteCommands,
  ...domainCommands,
  ...keyCommands,
  ...destinationCommands,
  ...engageCommands,
  ...engageResultCommands,
  healthCommand,
  tagHealthCommand,
  refusalsCommand,
  scaffoldCommand,
  ...replayCommands,
  ...deadCommands,
  ...funnelCommands,
  correlationCommand,
  trendsCommand,
  retentionCommand,
  ...activityCommands,
  topCommand,
  actorsCommand,
  pathsCommand,
  ...listingCommands,
  eventTraceCommand,
  personSplitCommand,
  queryCommand,
  ...runningQueryCommands,
  ...savedCommands,
  analystCommand,
  ...analystUserCommands,
  ...tokenCommands,
  ...userCommands,
  ...auditCommands,
];
