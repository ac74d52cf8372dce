import { environment } from '#infra/config/config.ts';
import { toolsConfig } from '#infra/config/tools_config.ts';

/** Whether output may be coloured: on a terminal, unless NO_COLOR is set to anything (no-color.org). */
export function coloursWanted(isTerminal: boolean): boolean {
  return isTerminal && toolsConfig(environment()).noColor === null;
}
