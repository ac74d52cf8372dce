import { Type } from 'typebox';
import { flag, orNull, text } from '#infra/config/variable.ts';
import { FAILPOINTS, type FailpointName } from './failpoint_names.ts';

/** Where and at which pass, from 1, the process is to kill itself, or to stall until somebody wakes it. */
export interface ArmedFailpoint {
  name: FailpointName;
  pass: number;
  signal: 'SIGKILL' | 'SIGSTOP';
}

const FORM = /^([a-z_.]+)(?::([1-9]\d{0,6})(:stall)?)?$/;

const SETTINGS = Type.Object({
  armed: orNull(
    text('FAILPOINT', {
      check: (value) => parseFailpoint(value) !== null,
      allowed: 'NAME, NAME:n or NAME:n:stall, with a name of infra/failpoint/failpoint_names.ts',
      description:
        'A place in the code at whose n-th pass, the first by default, the process kills itself; with `:stall` it stops there until it is sent SIGCONT.',
    }),
  ),
  allowed: flag('FAILPOINTS_ALLOWED', {
    default: false,
    description: 'Says that this is a test; a process with a failpoint does not start without it.',
  }),
});

/** `FAILPOINT`, as `stage.after_send:3` or `stage.after_send:3:stall`; null where none is set. */
export const FAILPOINT = Type.Decode(
  Type.Refine(
    SETTINGS,
    ({ armed, allowed }) => armed === null || allowed,
    () => 'FAILPOINTS_ALLOWED must be true where FAILPOINT is set: a failpoint kills the process',
  ),
  ({ armed }) => (armed === null ? null : parseFailpoint(armed)),
);

function parseFailpoint(wanted: string): ArmedFailpoint | null {
  const [, name = '', pass = '1', stall] = FORM.exec(wanted) ?? [];
  return isFailpoint(name) ? { name, pass: Number(pass), signal: stall === undefined ? 'SIGKILL' : 'SIGSTOP' } : null;
}

function isFailpoint(name: string): name is FailpointName {
  return Object.hasOwn(FAILPOINTS, name);
}
