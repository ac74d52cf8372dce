import type { AnalystUsers } from '#infra/clickhouse/analyst_users.ts';
import type { Problem } from '#pipelines/settings/problem.ts';
import type { Caller } from './authenticate.ts';
import type { ControlErrorCode } from './errors.ts';
import type { Judge } from './judge_caller.ts';
import type { SignInPlace } from './request_guard.ts';
import type { SignInParts } from './sign_in.ts';

/** What a route of sessions and sign-ins has beside its input. */
export interface SessionAsked {
  parts: SignInParts;
  /** Null: this installation makes no users of ClickHouse. */
  analysts: AnalystUsers | null;
  /** Who asks; null on routes that need nobody. */
  caller: Caller | null;
  /** The session cookie that came with the request, whatever it is worth. */
  cookie: string | null;
  /** The cookie of a sign-in that was begun at a provider. */
  flow: string | null;
  place: SignInPlace | null;
  network: string;
  browser: string;
}

/** The same, of somebody known; `judge` judges again whether they may do what they ask for. */
export type KnownAsked = SessionAsked & { caller: Caller; judge: Judge };

/** What such a route comes to: `cookie` sets the session cookie, `flow` that of a sign-in at a provider; null removes it. */
export type SessionAnswer =
  | { kind: 'answered'; body: object; version?: string; cookie?: string | null; flow?: string | null }
  | { kind: 'refused'; code: ControlErrorCode; problems: Problem[]; waitMs?: number | null; flow?: string | null };
