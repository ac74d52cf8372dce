import { standin as meta } from '#services/local/platforms/meta.ts';
import { type PlatformStandin, type Standin, startPlatform } from '#services/local/platforms/standin.ts';
import { standin as webhook } from '#services/local/platforms/webhook.ts';
import { standin as tiktok } from '#test/platforms/tiktok.ts';

/** Three destinations: one that is to fail, one with a site whose token is revoked, one beside them. */
export const DESTINATIONS = ['tiktok', 'meta', 'webhook'] as const;
export type Destination = (typeof DESTINATIONS)[number];

/** Their platforms, in this process, so that asking what has arrived takes nothing from the service. */
export type Platforms = Record<Destination, Standin>;

const STANDINS: Record<Destination, PlatformStandin> = { tiktok, meta, webhook };

export async function startPlatforms(): Promise<Platforms> {
  const started = DESTINATIONS.map(async (name) => [name, await startPlatform(STANDINS[name])] as const);
  return Object.fromEntries(await Promise.all(started)) as Platforms;
}

export async function stopPlatforms(platforms: Platforms): Promise<void> {
  await Promise.all(Object.values(platforms).map((standin) => standin.stop()));
}

/** The variables by which a destination's platform is elsewhere for all sites. */
export function platformEnvironment({ tiktok: failing, meta: other }: Platforms): Record<string, string> {
  return { DELIVERY_TIKTOK_BASE_URL: failing.url, DELIVERY_META_BASE_URL: other.url };
}
