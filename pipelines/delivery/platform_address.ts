import type { HttpRequest } from './contract.ts';
import { textField } from './setting_fields.ts';

/** The setting for a platform's address, which a site changes only for a gateway of its own. */
export const baseUrlField = (platform: string) =>
  textField({
    title: 'Address',
    called: true,
    description: 'Of the API; changed only for a gateway of your own.',
    pattern: '^https?://[^\\s?#]+$',
    default: platform,
  });

/** Where requests go. An address from a site's settings that is not the platform's own is not trusted. */
export interface Address {
  base: string;
  trusted: boolean;
}

/**
 * @param override of the whole process; null in production.
 * @param configured by the site.
 * @param platform the platform's own.
 */
export function addressOf(override: string | null, configured: string, platform: string): Address {
  const base = (override ?? configured).replace(/\/+$/, '');
  return { base, trusted: override !== null || configured === platform };
}

/** A POST of a JSON text to a path, which begins with a slash. */
export const postJson = (
  { base, trusted }: Address,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): HttpRequest => ({
  method: 'POST',
  url: base + path,
  headers: { 'content-type': 'application/json', ...headers },
  body,
  trusted,
});
