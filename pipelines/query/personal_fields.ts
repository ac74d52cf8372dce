/** Columns whose values stand for one person, or for one event. */
const PERSONAL: ReadonlySet<unknown> = new Set([
  'event_id',
  'distinct_id',
  'person_id',
  'email_sha256',
  'phone_sha256',
  'external_id_sha256',
  'client_ip',
  'client_user_agent',
  'order_id',
]);

/** Whether a question names such a column anywhere: it could single a person out, as what it filters or breaks down by. */
export function namesPersons(question: unknown): boolean {
  if (typeof question !== 'object' || question === null) return false;
  return Object.entries(question).some(
    ([name, value]) => (name === 'column' && PERSONAL.has(value)) || namesPersons(value),
  );
}
