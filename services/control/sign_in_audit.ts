import type { Logger } from '#infra/log/logger.ts';
import type { Principal } from '#pipelines/settings/access.ts';
import { accountOfFact, accountOfGrants } from '#pipelines/settings/audit.ts';
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
  permissionRefused(principal: Principal, operation: string, about: string): void;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
interface Budget {
  /** Of the same kind one in so long. */
  sameMs: number;
  perHour: number;
}
type Noted = { actor: string; accountId: string | null };
/** Of one account. The audit keeps 2,000 of them: refusals, which anybody can cause, must not displace the others within a day. */
const SIGN_INS: Budget = { sameMs: MINUTE_MS, perHour: 60 };
/** Of one user: whoever can sign in can do so again and again. */
const SIGNED_IN: Budget = { sameMs: 0, perHour: 60 };
/** Of one user, and apart from what anybody can cause: it may be all that is seen of a password that was stolen. */
const CODES_ASKED: Budget = { sameMs: MINUTE_MS, perHour: 30 };
/** What somebody known may not must not displace the tries to break in. */
const PERMISSIONS: Budget = { sameMs: HOUR_MS, perHour: 30 };
const KINDS_MAX = 1_000;

export function createSignInAudit(journal: SettingsJournal, logger: Logger, nowMs: () => number): SignInAudit {
  const [signIns, permissions] = [boundOfEach(SIGN_INS, nowMs), boundOfEach(PERMISSIONS, nowMs)];
  const [signedIn, codesAsked] = [boundOfEach(SIGNED_IN, nowMs), boundOfEach(CODES_ASKED, nowMs)];
  const record = (about: string, what: Record<string, unknown>, who: Noted): void => {
    const write = (): Promise<null> =>
      journal.change((view) => ({
        records: [notedRecord(view, about, what, who, nowMs(), 'access')],
        result: null,
      }));
    // Another control service may have written in between, which one try finds out.
    write()
      .catch((error: unknown) => (error instanceof JournalError ? write() : Promise.reject(error)))
      .catch((error: unknown) => logger.error({ err: error, about, actor: who.actor }, 'the audit lacks an entry'));
  };
  const recordDue = (isDue: Bound, about: string, what: Record<string, unknown>, who: Noted): void => {
    const unrecorded = isDue(JSON.stringify([about, what, who.actor]));
    if (unrecorded !== null) record(about, { ...what, ...(unrecorded > 0 ? { unrecorded } : {}) }, who);
  };
  /** Of a user, whoever acts: in the ring of the user's account. */
  const ofUser = (userId: string, actor: string): Noted => ({
    actor,
    accountId: accountOfFact(userKey(userId), null, journal.view().table),
  });
  return {
    signedIn(userId, from) {
      recordDue(signedIn(userId), userKey(userId), { done: 'user.sign_in', ...from }, ofUser(userId, actorOf(userId)));
    },
    signInRefused(userId, reason, network) {
      const about = userId === null ? 'user' : userKey(userId);
      logger.warn({ about, reason, network }, 'a sign-in was refused');
      const who = userId === null ? { actor: STRANGER, accountId: null } : ofUser(userId, STRANGER);
      recordDue(signIns(who.accountId), about, { done: 'user.sign_in_refused', reason }, who);
    },
    codeAsked(userId, network) {
      const about = userKey(userId);
      logger.info({ about, network }, 'a password was right, and the second factor is asked for');
      recordDue(codesAsked(userId), about, { done: 'user.code_asked', network }, ofUser(userId, STRANGER));
    },
    permissionRefused({ actor, grants }, operation, about) {
      const who = { actor, accountId: accountOfGrants(grants, journal.view().table) };
      recordDue(permissions(who.accountId), about, { done: 'permission.refused', operation }, who);
    },
  };
}

type Bound = (kind: string) => number | null;

/** A bound for each user or account that there is. */
function boundOfEach(budget: Budget, nowMs: () => number): (of: string | null) => Bound {
  const bounds = new Map<string | null, Bound>();
  return (of) => {
    const bound = bounds.get(of) ?? createBound(budget, nowMs);
    bounds.set(of, bound);
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
