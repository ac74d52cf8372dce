import type { Acceptance } from './acceptance_ledger.ts';

export interface PlatformRequest {
  method: string;
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
}

export interface PlatformAnswer {
  status: number;
  headers?: Record<string, string>;
  body: string;
  /** What is accepted with this answer. */
  accepted?: Acceptance[];
}
