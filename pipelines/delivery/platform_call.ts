import type { PlatformAnswer } from '#schemas/records.ts';
import type { Site } from '#schemas/setting.ts';
import { answerExcerpt } from './answer_excerpt.ts';
import type { TokenAnswer, Verdict } from './contract.ts';
import type { IndexedPiece, Run } from './delivery_run.ts';
import { sha256Hex } from './hash.ts';

/** What came of one call. */
export interface Called {
  verdict: Verdict;
  /** Whether an address was called that all sites share. */
  isShared: boolean;
  tookMs: number;
  answer: PlatformAnswer | null;
}

/**
 * Sends a batch, when its turn has come and there is a token where one is needed. Null where the process was to stop
 * before that: nothing was sent.
 */
export function call(run: Run, batch: readonly IndexedPiece[]): Promise<Called | null> {
  const { ports, job, concurrencyMax } = run;
  return ports.turns.run(job.site.site_id, concurrencyMax, () => callNow(run, batch));
}

async function callNow(run: Run, batch: readonly IndexedPiece[]): Promise<Called | null> {
  const { job, ports, settings, timeoutMs } = run;
  if (ports.stopping()) return null;
  const startedMs = ports.monotonicMs();
  run.token ??= tokenFor(run);
  const token = await run.token;
  if (token.kind === 'none') {
    return { verdict: token.verdict, isShared: false, tookMs: ports.monotonicMs() - startedMs, answer: null };
  }
  if (ports.stopping()) return null;
  const group = batch[0]?.group ?? '';
  const context = { settings, baseUrl: job.baseUrl, group, token: token.token, nowMs: ports.nowMs() };
  const request = job.adapter.request(batch, context);
  const eventIds = batch.map((piece) => piece.entry.event.event_id);
  const answered = await ports.send(request, timeoutMs);
  const verdict = job.adapter.classify(answered, eventIds);
  if (verdict.kind === 'credentials_broken') forgetToken(run);
  const answer = answerExcerpt(answered, [...Object.values(job.secrets), token.token], countriesOf(job.site));
  return { verdict, isShared: request.trusted, tookMs: ports.monotonicMs() - startedMs, answer };
}

const countriesOf = ({ default_country }: Site): string[] => (default_country === null ? [] : [default_country]);

/** A token belongs to the very credentials it was given for. */
const tokenKey = ({ job, settings }: Run): string =>
  sha256Hex(JSON.stringify([job.adapter.name, job.site.site_id, settings]));

function forgetToken(run: Run): void {
  if (run.job.adapter.authorisation === undefined) return;
  run.ports.tokens.forget(tokenKey(run));
  run.token = null;
}

async function tokenFor(run: Run): Promise<TokenAnswer> {
  const { job, ports, settings, timeoutMs } = run;
  const { authorisation } = job.adapter;
  if (authorisation === undefined) return { kind: 'token', token: '', lifetimeMs: 0 };
  const nowMs = ports.monotonicMs();
  const key = tokenKey(run);
  const known = ports.tokens.get(key, nowMs);
  if (known !== null) return { kind: 'token', token: known, lifetimeMs: 0 };
  const asked = authorisation.request({ settings, baseUrl: job.baseUrl, nowMs: ports.nowMs() });
  if (asked.kind === 'none') return asked;
  const answer = authorisation.read(await ports.send(asked.request, timeoutMs));
  if (answer.kind === 'token') ports.tokens.put(key, answer.token, nowMs + answer.lifetimeMs);
  return answer;
}
