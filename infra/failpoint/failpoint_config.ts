import { ConfigError, type Environment, flag, text } from '#infra/config/config.ts';
import { FAILPOINTS, type FailpointName } from './failpoint_names.ts';

/** Where and at which pass, from 1, the process is to kill itself, or to stall until somebody wakes it. */
export interface ArmedFailpoint {
  name: FailpointName;
  pass: number;
  signal: 'SIGKILL' | 'SIGSTOP';
}

const FORM = /^([a-z_.]+)(?::([1-9]\d{0,6})(:stall)?)?$/;

/**
 * Reads `FAILPOINT`, as `hop.after_send:3` or `hop.after_send:3:stall`; null where none is set.
 *
 * @throws ConfigError where it names no failpoint, or where `FAILPOINTS_ALLOWED` does not say that this is a test.
 */
export function failpointConfig(env: Environment): ArmedFailpoint | null {
  const wanted = text(env, 'FAILPOINT', '');
  if (wanted === '') return null;
  if (!flag(env, 'FAILPOINTS_ALLOWED', false)) {
    throw new ConfigError('FAILPOINT kills this process and needs FAILPOINTS_ALLOWED=true');
  }
  const [, name = '', pass = '1', stall] = FORM.exec(wanted) ?? [];
  if (!isFailpoint(name)) throw new ConfigError(`FAILPOINT must be one of ${Object.keys(FAILPOINTS).join(', ')}`);
  return { name, pass: Number(pass), signal: stall === undefined ? 'SIGKILL' : 'SIGSTOP' };
}

function isFailpoint(name: string): name is FailpointName {
  return Object.hasOwn(FAILPOINTS, name);
}
