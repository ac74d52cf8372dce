import type { EncodedEvent } from '#schemas/event_batch.ts';
import type { SiteJob } from '#services/delivery/job_reader.ts';

/** What is read of a site from one record of the main topic, for its webhook: its first record, where nothing else is said. */
export function mainJob(
  siteId: string,
  views: readonly EncodedEvent[],
  changes: Partial<SiteJob> = {},
  offset = 0,
): SiteJob {
  const { destination = 'webhook' } = changes;
  return {
    siteId,
    destination,
    source: { topic: 'events.identified', partition: 0 },
    events: views.map((view, index) => ({ view, offset, index, destination })),
    attempt: 1,
    firstAttemptedAtMs: null,
    askedAtMs: null,
    isMain: true,
    pausedFor: '',
    spans: null,
    ...changes,
  };
}
