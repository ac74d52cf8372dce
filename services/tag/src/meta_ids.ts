import { readCookie, writeCookie } from './cookies.ts';
import { CLICK_S } from './limits.ts';

/**
 * Makes Meta's browser ids where there are none, in its own form, `fb.1.<milliseconds>.<random or fbclid>`, so that the first
 * page's events carry them already; the pixel takes over what it finds.
 */
export function makeMetaIds(click: string | undefined, nowMs: number): void {
  const make = (name: string, id: string): void => writeCookie(name, `fb.1.${nowMs}.${id}`, CLICK_S);
  if (click && !readCookie('_fbc')?.endsWith(`.${click}`)) make('_fbc', click);
  if (!readCookie('_fbp')) make('_fbp', `${Math.random()}`.slice(2, 12));
}
