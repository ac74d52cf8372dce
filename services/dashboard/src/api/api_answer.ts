/** What is wrong with one field of what was sent. */
export interface FieldProblem {
  code: string;
  field: string;
  message: string;
}

/** Why something was not done: what the service said, in its own stable codes, or that it did not answer. */
export interface Failure {
  /** Of HTTP; 0 where there was no answer. */
  status: number;
  code: string;
  message: string;
  problems: readonly FieldProblem[];
}

/** What came of a request. */
export type Answer<Value> = { ok: true; value: Value; version: string | null } | { ok: false; failure: Failure };

/** Codes by which the service says that a part of it is away, and what that part is to people. */
const PARTS_AWAY: Readonly<Record<string, string>> = {
  query_unavailable: 'ClickHouse, which answers questions about events, does not answer now. Events are still taken.',
  stages_unavailable: 'Kafka, which knows how far the stages are, does not answer now.',
  dead_letters_unavailable: 'Kafka, which holds the dead letters, does not answer now.',
  refusals_unavailable: 'Redis, which counts what is not accepted, does not answer now. Events are still taken.',
  tag_health_unavailable: 'Redis, which counts what tags send, does not answer now. Events are still taken.',
  sessions_unavailable: 'Redis, which holds the sessions, does not answer now. Events are still taken.',
  settings_not_stored:
    'Kafka, which holds the settings, does not answer now. The change may or may not have been stored.',
  dns_unavailable: 'The name servers do not answer now.',
  unreachable: 'The control service does not answer. This page tries again by itself.',
};

/** What a failure is to people, in a sentence. */
export function sentenceOf({ code, message }: Failure): string {
  const away = PARTS_AWAY[code];
  if (away !== undefined) return away;
  if (code === 'permission_missing')
    return 'Your role may not see or do this. Whoever manages members of this account can change that.';
  if (code === 'proof_needed') return 'Nothing was changed: it takes a proof that it is you.';
  if (code === 'query_busy') return 'Too many questions are being answered right now. Ask again in a moment.';
  // What is too heavy at one moment is not always so at the next.
  if (code === 'query_too_heavy')
    return 'The answer takes more time or memory than it may. Ask again, and if that does not help for a shorter period.';
  // They stand below it.
  return message.replace('; problems lists them.', ':');
}

/** Whether asking again without a change may come to something else. */
export function mayPass({ status, code }: Failure): boolean {
  return status === 0 || status === 429 || status >= 500 || code === 'query_too_heavy';
}
