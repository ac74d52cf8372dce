// Signing in at a provider of OpenID Connect: flows, invitations, links and proofs.

import { hash } from 'node:crypto';
import type { OidcBinding, ProviderClient } from '#infra/oidc/provider_client.ts';
import * as members from '#pipelines/settings/dashboard_users.ts';
import { auditedRecords } from '#pipelines/settings/journal.ts';
import type { RandomBytes } from '#pipelines/settings/secrets.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { User } from '#schemas/setting.ts';
import { type PrincipalId, principalNow } from '../auth.ts';
import type { ControlErrorCode } from '../errors.ts';
import type { SessionAsked } from '../route.ts';
import { begun, reached, type SignInParts, type SignInResult } from './sign_in.ts';

/** What a sign-in at a provider is for: to sign in, by an invitation or without, or to link an account to somebody. */
type Purpose =
  | {
      kind: 'sign_in';
      invitation: string | null;
      /** Whether it is to prove who somebody is. */
      isProof: boolean;
    }
  | { kind: 'link'; userId: string };

interface Flow extends OidcBinding {
  provider: string;
  purpose: Purpose;
  begunMs: number;
}

interface Invited {
  userId: string;
  madeMs: number;
  /** Who made it. Invitations of former versions, which live on for 72 hours, have a user's id, or null for a token. */
  inviter: PrincipalId | string | null;
  /** Digest of what the user might do then: whoever invited somebody need not be one who may invite what they became. */
  grants: string;
}

const digestOf = (grants: User['grants']): string => hash('sha256', JSON.stringify(grants));

type Refused = Extract<SignInResult, { ok: false }>;

/** How long somebody may take at the provider. */
export const FLOW_MS = 10 * 60_000;
const INVITATION_MS = 72 * 3_600_000;
const SECRET_BYTES = 32;
/**
 * Where a provider sends browsers back to: a page of the dashboard, whose script sends on what it said. Each has one of its own,
 * so that what one sends is never taken for what another said (mix-up, RFC 9700 section 4.4).
 */
const RETURN_PATH = '/dashboard/signed-in';

/** What the browser was sent back with, and by which provider, as the address says that it came to. */
export interface ProviderReturn {
  provider: string;
  answer: string;
}

/** Something that nobody guesses. */
const newSecret = (randomBytes: RandomBytes): string => Buffer.from(randomBytes(SECRET_BYTES)).toString('base64url');

/**
 * Begins a sign-in at a provider. What it is bound to is kept under a secret that the browser has as a cookie, so that
 * nobody has another browser end what they began.
 *
 * @throws SessionsUnavailableError
 */
export async function beginAtProvider(
  { parts, place, network }: SessionAsked,
  providerId: string,
  purpose: Purpose,
): Promise<{ ok: true; url: string; flow: string } | Refused> {
  const waitMs = await reached(parts.limits.tryProvider(network));
  if (waitMs > 0) return { ok: false, code: 'sign_in_limited', waitMs };
  const provider = parts.oidc.providers.find(({ id }) => id === providerId);
  if (provider === undefined || place === null) return { ok: false, code: 'provider_unknown' };
  const secret = (): string => newSecret(parts.randomBytes);
  const begunMs = parts.nowMs();
  const isAgain = purpose.kind === 'sign_in' && purpose.isProof;
  const binding: OidcBinding = {
    redirectUri: `${place.origin}${RETURN_PATH}/${providerId}`,
    // What it is for is no secret: the page that is returned to reads it.
    ...{ state: `${purpose.kind}.${secret()}`, nonce: secret(), verifier: secret() },
    isAgain,
  };
  const url = await provider.begin(binding);
  if (url === null) {
    parts.signInAudit.signInRefused(null, `${providerId}: oidc_unavailable`, network);
    return { ok: false, code: 'oidc_unavailable' };
  }
  const flow = secret();
  const note: Flow = { ...binding, provider: providerId, purpose, begunMs };
  await reached(parts.oidc.notes.put('oidc', flow, note, FLOW_MS));
  return { ok: true, url, flow };
}

type Proven =
  | {
      ok: true;
      subject: string;
      provider: ProviderClient;
      purpose: Purpose;
      /** When they proved it to the provider, and when it was asked to have them. */
      when: Pick<members.ProviderSignIn, 'authMs' | 'askedAgainMs'>;
    }
  | Refused;

/** Who has signed in at the provider. What was begun ends here, however it ends. @throws SessionsUnavailableError */
async function provenAtProvider(
  { parts, flow, network }: SessionAsked,
  kind: Purpose['kind'],
  returned: ProviderReturn,
): Promise<Proven> {
  const note = flow === null ? null : ((await reached(parts.oidc.notes.take('oidc', flow))) as Flow | null);
  const provider = parts.oidc.providers.find(({ id }) => id === note?.provider);
  const isOver = note === null || note.purpose.kind !== kind || note.provider !== returned.provider;
  if (isOver || provider === undefined) {
    parts.signInAudit.signInRefused(null, 'oidc_flow_over', network);
    return { ok: false, code: 'oidc_flow_over' };
  }
  const answered = await provider.finish(returned.answer, note);
  if (!answered.ok) {
    parts.signInAudit.signInRefused(null, `${provider.id}: ${answered.code} ${answered.detail}`, network);
    return { ok: false, code: answered.code };
  }
  const subject = members.oidcSubject(answered.issuer, answered.subject);
  const when = { authMs: answered.authMs, askedAgainMs: note.isAgain ? note.begunMs : null };
  return { ok: true, subject, provider, purpose: note.purpose, when };
}

/**
 * Ends a sign-in at a provider. The second factor is the provider's: that of the dashboard goes with the password.
 *
 * @throws SessionsUnavailableError, JournalError
 */
export async function signInByProvider(asked: SessionAsked, returned: ProviderReturn): Promise<SignInResult> {
  const { parts, network, browser } = asked;
  const proven = await provenAtProvider(asked, 'sign_in', returned);
  if (!proven.ok) return proven;
  const { subject, provider, purpose, when } = proven;
  const refuse = (code: ControlErrorCode, userId: string | null): Refused => {
    parts.signInAudit.signInRefused(userId, `${provider.id}: ${code}`, network);
    return { ok: false, code };
  };
  if (purpose.kind === 'sign_in' && purpose.invitation !== null) {
    const invited = (await reached(parts.oidc.notes.take('invitation', purpose.invitation))) as Invited | null;
    if (invited === null) return refuse('invitation_over', null);
    const code = await linkTo(parts, invited, subject);
    if (code !== null) return refuse(code, invited.userId);
  }
  const user = members.userOfSubject(parts.journal.view().table, subject);
  if (user === undefined || user.disabled_at !== null) return refuse('oidc_not_linked', user?.user_id ?? null);
  const { isTimeOptional } = provider;
  const provenMs = members.provenAtProviderMs(
    { ...when, isTimeOptional, hasPassword: user.password !== null },
    parts.nowMs(),
  );
  if (when.askedAgainMs !== null && provenMs === null) return refuse('oidc_not_proven', user.user_id);
  return begun(parts, user, { network, browser, provenMs });
}

/** The user whose account a sign-in at a provider was begun to link; their session must be the one that asks. */
export async function provenLink(
  asked: SessionAsked,
  userId: string,
  returned: ProviderReturn,
): Promise<{ ok: true; subject: string } | Refused> {
  const proven = await provenAtProvider(asked, 'link', returned);
  if (!proven.ok) return proven;
  const isTheirs = proven.purpose.kind === 'link' && proven.purpose.userId === userId;
  if (isTheirs) return proven;
  asked.parts.signInAudit.signInRefused(userId, 'oidc_flow_over', asked.network);
  return { ok: false, code: 'oidc_flow_over' };
}

/** The user that an invitation is for, unless it is over. */
function invitedBy(invited: Invited, table: SettingsTable, nowMs: number): User | null {
  const user = table.user(invited.userId);
  if (!members.isSessionValid(user, invited.madeMs) || digestOf(user.grants) !== invited.grants) return null;
  const id = typeof invited.inviter === 'string' ? { kind: 'user' as const, id: invited.inviter } : invited.inviter;
  const inviter = id === null ? null : principalNow(table, id, nowMs);
  return inviter !== null && members.managesUser(inviter, user, table) ? user : null;
}

/**
 * Links the invited user's account. An invitation is over when it or another of theirs was used, when their sessions ended
 * or what they may do changed since, and when who made it may not invite them any more. Sessions end, as whoever it is
 * signs in in another way from now on.
 */
function linkTo({ journal, nowMs }: SignInParts, invited: Invited, subject: string): Promise<ControlErrorCode | null> {
  return journal.change<ControlErrorCode | null>((view) => {
    const user = invitedBy(invited, view.table, nowMs());
    if (user === null) return { records: [], result: 'invitation_over' };
    const linking = members.linkedSubjects(view.table, user, subject);
    if (!linking.ok) return { records: [], result: linking.code };
    const sessions_from = members.sessionsEndedAt(user, nowMs());
    const facts = [{ body: { user: { ...user, oidc_subjects: linking.subjects, sessions_from } } }];
    return { records: auditedRecords(view, facts, members.actorOf(user.user_id), nowMs()), result: null };
  });
}

/** Makes an invitation for a user: whoever has it links their account at a provider, once. @throws SessionsUnavailableError */
export async function invite(
  { oidc, randomBytes, nowMs }: SignInParts,
  { user_id: userId, grants, sessions_from: notBeforeMs }: User,
  inviter: PrincipalId,
): Promise<{ invitation: string; expiresMs: number }> {
  const invitation = newSecret(randomBytes);
  const note: Invited = { userId, madeMs: Math.max(nowMs(), notBeforeMs), inviter, grants: digestOf(grants) };
  await reached(oidc.notes.put('invitation', invitation, note, INVITATION_MS));
  return { invitation, expiresMs: nowMs() + INVITATION_MS };
}
