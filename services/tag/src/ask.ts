import { ANSWER_MS_MAX } from './limits.ts';

/**
 * Asks the edge, as nobody in particular: without cookies, and without the path and query of the page. Rejects where there is
 * no answer within 30 s, and where the browser forbids to ask.
 */
export const ask = async (url: string, more?: RequestInit): Promise<Response> =>
  fetch(url, {
    credentials: 'omit',
    referrerPolicy: 'strict-origin',
    // An old browser waits as long as it likes.
    signal: AbortSignal.timeout?.(ANSWER_MS_MAX) as AbortSignal,
    ...more,
  });
