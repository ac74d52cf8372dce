import type { Metrics } from '#infra/metrics/metrics.ts';
import type { CountedSubmission, EngageGuard } from '#infra/redis/engage_guard.ts';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import type { SpamCounts, SpamReason } from '#pipelines/engage/spam.ts';

/** What is known of submissions over all edges, where Redis may be away, and what was found to be spam. */
export interface SpamWatch {
  /** Null where nobody could be asked: then a submission is judged by itself alone. */
  count(submission: CountedSubmission): Promise<SpamCounts | null>;
  found(kind: EngageKind, reason: SpamReason): void;
  challenged(): void;
}

export function createSpamWatch(guard: EngageGuard, metrics: Metrics): SpamWatch {
  const spam = metrics.counter('svc_edge_engage_spam_total', 'Submissions that were taken for spam', [
    'kind',
    'reason',
  ]);
  const challenges = metrics.counter('svc_edge_engage_challenges_total', 'Submissions asked for a proof of work', []);
  const unguarded = metrics.counter(
    'svc_edge_engage_unguarded_total',
    'Submissions that could not be compared with those before',
    [],
  );
  return {
    async count(submission) {
      try {
        return await guard.count(submission);
      } catch {
        unguarded.inc();
        return null;
      }
    },
    found: (kind, reason) => spam.inc({ kind, reason }),
    challenged: () => challenges.inc(),
  };
}
