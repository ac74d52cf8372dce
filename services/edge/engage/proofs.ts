import { type Challenge, isSolved, makeChallenge } from '#pipelines/engage/challenge.ts';
import type { Proof } from '#pipelines/engage/engage_request.ts';
import type { EngageParts } from './engage_parts.ts';

const CHALLENGE_BYTES = 16;

/** What has to be solved before a submission in doubt is taken; null: it came with the solution. */
export function challengeFor(
  { secret, randomBytes }: Pick<EngageParts, 'secret' | 'randomBytes'>,
  submissionId: string,
  proof: Proof | undefined,
  nowMs: number,
): Challenge | null {
  if (isSolved(secret, submissionId, proof, nowMs)) return null;
  return makeChallenge(secret, submissionId, nowMs, randomBytes(CHALLENGE_BYTES));
}
