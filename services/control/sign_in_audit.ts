import type { Logger } from '#infra/log/logger.ts';
import { actorOf, STRANGER } from '#pipelines/settings/dashboard_users.ts';
import { JournalError, notedRecord, type SettingsJournal } from '#pipelines/settings/journal.ts';
import { userKey } from '#pipelines/settings/setting_address.ts';

/** Records in the audit who signed in and who was refused, beside the answer: nobody waits for it. */
export interface SignInAudit {
  signedIn(userId: string, from: { network: string; browser: string }): void;
  /** @param userId Null where there is no such user: what was typed may be a password. */
  signInRefused(userId: string | null, reason: string, network: string): void;
  /** The password was right, and the code of the second factor is asked for: who goes no further may have stolen it. */
  codeAsked(userId: string, network: string): void;
  /** Somebody known asked for what they may not. */
  permissionRefused(actor: string, operation: string, about: string): void;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
interface Budget {
  /** Of the same kind one in so long. */
  sameMs: number;
  perHour: number;
}
/** The audit keeps 2,000 of them: refusals, which anybody can cause, must not displace the others within a day. */
const SIGN_INS: Budget = { sameMs: MINUTE_MS, perHour: 60 };
/** Of one user: whoever can sign in can do so again and again. */
const SIGNED_IN: Budget = { sameMs: 0, perHour: 60 };
/** Of one user, and apart from what anybody can cause: it may be all that is seen of a password that was stolen. */
const CODES_ASKED: Budget = { sameMs: MINUTE_MS, perHour: 30 };
/** What somebody known may not must not displace the tries to break in. */
const PERMISSIONS: Budget = { sameMs: HOUR_MS, perHour: 30 };
const KINDS_MAX = 1_000;

export function createSignInAudit(journal: SettingsJournal, logger: Logger, nowMs: () => number): SignInAudit {
  const [signIns, permissions] = [createBound(SIGN_INS, nowMs), createBound(PERMISSIONS, nowMs)];
  const [signedIn, codesAsked] = [boundOfEach(SIGNED_IN, nowMs), boundOfEach(CODES_ASKED, nowMs)];
  const record = (about: string, what: Record<string, unknown>, actor: string): void => {
    const write = (): Promise<null> =>
      journal.change((view) => ({
        records: [notedRecord(view, about, what, actor, nowMs(), 'access')],
        result: null,
      }));
    // Another control service may have written in between, which one try finds out.
    write()
      .catch((error: unknown) => (error instanceof JournalError ? write() : Promise.reject(error)))
      .catch((error: unknown) => logger.error({ err: error, about, actor }, 'the audit lacks an entry'));
  };
  const recordDue = (isDue: Bound, about: string, what: Record<string, unknown>, actor: string): void => {
    const unrecorded = isDue(JSON.stringify([about, what, actor]));
    if (unrecorded !== null) record(about, { ...what, ...(unrecorded > 0 ? { unrecorded } : {}) }, actor);
  };
  return {
    signedIn(userId, from) {
      recordDue(signedIn(userId), userKey(userId), { done: 'user.sign_in', ...from }, actorOf(userId));
    },
    signInRefused(userId, reason, network) {
      const about = userId === null ? 'user' : userKey(userId);
      logger.warn({ about, reason, network }, 'a sign-in was refused');
      recordDue(signIns, about, { done: 'user.sign_in_refused', reason }, STRANGER);
    },
    codeAsked(userId, network) {
      const about = userKey(userId);
      logger.info({ about, network }, 'a password was right, and the second factor is asked for');
      recordDue(codesAsked(userId), about, { done: 'user.code_asked', network }, STRANGER);
    },
    permissionRefused: (actor, operation, about) =>
      recordDue(permissions, about, { done: 'permission.refused', operation }, actor),
  };
}

type Bound = (kind: string) => number | null;

/** A bound for each user that there is. */
function boundOfEach(budget: Budget, nowMs: () => number): (userId: string) => Bound {
  const bounds = new Map<string, Bound>();
  return (userId) => {
    const bound = bounds.get(userId) ?? createBound(budget, nowMs);
    bounds.set(userId, bound);
    return bound;
  };
}

/** Says whether something is recorded: how many were not since the last record; null where this one is not either. */
function createBound({ sameMs, perHour }: Budget, nowMs: () => number): Bound {
  const kinds = new Map<string, { recordedMs: number }>();
  let hour = { startedMs: Number.NEGATIVE_INFINITY, recorded: 0 };
  let unrecorded = 0;
  return (kind) => {
    const now = nowMs();
    if (now - hour.startedMs >= HOUR_MS) hour = { startedMs: now, recorded: 0 };
    const last = kinds.get(kind)?.recordedMs ?? Number.NEGATIVE_INFINITY;
    if (now - last < sameMs || hour.recorded >= perHour) {
      unrecorded += 1;
      return null;
    }
    if (kinds.size >= KINDS_MAX) kinds.clear();
    kinds.set(kind, { recordedMs: now });
    hour.recorded += 1;
    const since = unrecorded;
    unrecorded = 0;
    return since;
  };
}
