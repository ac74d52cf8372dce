import type { EntryView } from '#schemas/event_batch.ts';

/** Events and bytes of one job: a delivery process takes up a job as a whole. */
const JOB_EVENTS_MAX = 500;
const JOB_BYTES_MAX = 128 * 1024;

/** Cuts events into jobs of one site each, in their order. */
export function cutJobs(views: readonly EntryView[]): EntryView[][] {
  const jobs: EntryView[][] = [];
  const open = new Map<string, { views: EntryView[]; bytes: number }>();
  for (const view of views) {
    const bytes = view.eventBytes.length + view.personBytes.length;
    const current = open.get(view.siteId);
    if (current !== undefined && current.views.length < JOB_EVENTS_MAX && current.bytes + bytes <= JOB_BYTES_MAX) {
      current.views.push(view);
      current.bytes += bytes;
    } else {
      const job = [view];
      jobs.push(job);
      open.set(view.siteId, { views: job, bytes });
    }
  }
  return jobs;
}
