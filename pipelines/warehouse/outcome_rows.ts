import type { DeliveryOutcomes } from '#schemas/records.ts';

/** The rows of delivery_outcomes that a record of delivery.outcomes becomes, one for each event. */
export function outcomeRows({
  outcomes,
  answers = [],
  ...shared
}: DeliveryOutcomes): Readonly<Record<string, unknown>>[] {
  return outcomes.map(({ answer = -1, ...one }) => {
    const { status = 0, body = '' } = answers[answer] ?? {};
    return { ...shared, ...one, answer_status: status, answer: body };
  });
}
