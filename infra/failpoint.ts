// Places where tests have a process kill itself or stall.

let armed: ArmedFailpoint | null = null;
let passes = 0;

export function armFailpoint(wanted: ArmedFailpoint | null): void {
  armed = wanted;
}

/** A place where a test may have the process kill itself, or stall; nothing otherwise. */
export function failpoint(name: FailpointName): void {
  if (armed === null || name !== armed.name) return;
  passes++;
  if (passes === armed.pass) process.kill(process.pid, armed.signal);
}

/** Where and at which pass, from 1, the process is to kill itself, or to stall until somebody wakes it. */
export interface ArmedFailpoint {
  name: FailpointName;
  pass: number;
  signal: 'SIGKILL' | 'SIGSTOP';
}

const FORM = /^([a-z_.]+)(?::([1-9]\d{0,6})(:stall)?)?$/;

/** Every failpoint, with the processes that pass there. A delivery process is any destination's. */
export const FAILPOINTS = {
  'edge.before_send': ['edge'],
  'edge.after_send': ['edge'],
  'dedup.after_claim': ['dedup'],
  // Nobody passes here but after Redis was lost.
  'dedup.rebuilding': [],
  'identity.after_resolve': ['identity'],
  'delivery.after_answer': ['delivery'],
  'stage.before_send': ['dedup', 'identity', 'delivery'],
  'stage.after_send': ['dedup', 'identity', 'delivery'],
  'stage.after_offsets': ['dedup', 'identity', 'delivery'],
  'stage.after_commit': ['dedup', 'identity', 'delivery'],
  // Nobody passes here but while a person is erased.
  'erasure.step': [],
  // Nobody passes here but while an alert is judged or sent.
  'alerts.step': [],
  'alerts.before_send': [],
  'alerts.after_answer': [],
  'quota.after_settle': ['quota'],
  'quota.after_usage': ['quota'],
  'quota.after_commit': ['quota'],
  'sink.after_plan': ['warehouse'],
  'sink.after_insert': ['warehouse'],
  'sink.after_commit': ['warehouse'],
} as const satisfies Record<string, readonly string[]>;

/** A failpoint as tests write it, `stage.after_send:3` or `stage.after_send:3:stall`; null where it is none. */
export function parseFailpoint(wanted: string): ArmedFailpoint | null {
  const [, name = '', pass = '1', stall] = FORM.exec(wanted) ?? [];
  return isFailpoint(name) ? { name, pass: Number(pass), signal: stall === undefined ? 'SIGKILL' : 'SIGSTOP' } : null;
}

function isFailpoint(name: string): name is FailpointName {
  return Object.hasOwn(FAILPOINTS, name);
}

export type FailpointName = keyof typeof FAILPOINTS;
