import { join } from 'node:path';
import { startPlatform } from '#services/local/platforms/platform.ts';
import { PLATFORMS } from '#services/local/platforms/platforms.ts';
import type { Standin } from '#services/local/platforms/server.ts';
import { startService } from '#test/harness/service.ts';
import type { ControlledService } from '#test/harness/settings.ts';
import { standin as tiktok } from '#test/platforms/tiktok.ts';

/** The destinations of a drill: one that is to fail, one with a site whose token is revoked, one beside them. */
export const DRILLED = ['tiktok', 'meta', 'webhook'] as const;
export type Drilled = (typeof DRILLED)[number];

/** A running service and the platforms it delivers to. */
export interface Place {
  edge: string;
  service: ControlledService;
  standins: Record<Drilled, Standin>;
  close(): Promise<void>;
}

export async function startStandins(): Promise<Record<Drilled, Standin>> {
  const started = DRILLED.map(async (name) => {
    const platform = name === 'tiktok' ? tiktok : PLATFORMS[name];
    if (platform === undefined) throw new Error(`no stand-in is called ${name}`);
    return [name, await startPlatform(platform)] as const;
  });
  return Object.fromEntries(await Promise.all(started)) as Record<Drilled, Standin>;
}

/** Brings up a service of its own, whose platforms are the stand-ins for all sites: as in production, but for the addresses. */
export async function openPlace(folder: string, say: (line: string) => void): Promise<Place> {
  const standins = await startStandins();
  const closeStandins = () => Promise.all(Object.values(standins).map((standin) => standin.stop()));
  try {
    const service = await startService(join(folder, 'drill'), {
      env: {
        RATE_LIMIT_IP: '0',
        RATE_LIMIT_KEY: '0',
        DELIVERY_TIKTOK_BASE_URL: standins.tiktok.url,
        DELIVERY_META_BASE_URL: standins.meta.url,
      },
      onProgress: say,
    });
    return {
      edge: service.ready.edge,
      service,
      standins,
      async close() {
        await service.stop();
        await closeStandins();
      },
    };
  } catch (error) {
    await closeStandins();
    throw error;
  }
}
