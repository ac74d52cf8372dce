import { inject } from 'vitest';
import type { ReadyFile } from '#services/local/start/screen.ts';

/** The one service that the integration and end-to-end tests share. */
export interface SharedService {
  pid: number;
  dataDir: string;
  ready: ReadyFile;
}

declare module 'vitest' {
  export interface ProvidedContext {
    service: SharedService;
    /** Where its alerts look for a mail server. */
    mailPort: number;
  }
}

/** The shared service, inside a test file. */
export function sharedService(): SharedService {
  return inject('service');
}
