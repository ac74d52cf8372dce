/** The environment, and the error that says what is wrong with it. */

export type Environment = Readonly<Record<string, string | undefined>>;

export function environment(): Environment {
  return process.env;
}

/** Everything that is wrong with the environment, a line for each fault. No line holds a value that was set. */
export class ConfigError extends Error {
  readonly code = 'config_invalid';
  readonly recovery = 'stop';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(['the environment cannot be used:', ...faults.map((fault) => `  ${fault}`)].join('\n'));
    this.faults = faults;
  }
}
