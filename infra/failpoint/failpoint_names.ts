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
  'quota.after_settle': ['quota'],
  'quota.after_usage': ['quota'],
  'quota.after_commit': ['quota'],
  'sink.after_plan': ['warehouse'],
  'sink.after_insert': ['warehouse'],
  'sink.after_commit': ['warehouse'],
} as const satisfies Record<string, readonly string[]>;

export type FailpointName = keyof typeof FAILPOINTS;
