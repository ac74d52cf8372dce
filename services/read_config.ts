import { ConfigError, type Environment, environment } from '#infra/config/config.ts';
import { settingWarnings } from '#infra/config/setting_warnings.ts';

/** Reads this process's environment. Where it cannot be used, says every fault on standard error and ends the process. */
export function readConfig<C>(read: (env: Environment) => C): C {
  try {
    return read(environment());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.code}: ${error.message}\n`);
    // A name that is wrong is often why another one is not set.
    warnOfSettings((text) => process.stderr.write(`warning: ${text}\n`));
    process.exit(1);
  }
}

/** Says what is set but will not do what was meant. */
export function warnOfSettings(warn: (text: string) => void): void {
  settingWarnings(environment()).forEach(warn);
}
