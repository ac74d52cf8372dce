import { TOPICS } from '#infra/kafka/topics.ts';
import { deliverySpecs, replaySpec } from '#services/local/start/processes.ts';
import { openSettings, type SettingsEditor } from '#test/harness/settings.ts';
import type { World } from './fault_world.ts';
import { beginAtEnd } from './groups.ts';
import { type Platforms, startPlatforms, stopPlatforms } from './platforms.ts';

/** What a row needs that watches several destinations of many sites. */
export interface Observed {
  edge: string;
  platforms: Platforms;
  settings: SettingsEditor;
}

/** Starts the processes and platforms that no other row needs, and ends them when the task is over. */
export async function withPlatforms(world: World, task: (observed: Observed) => Promise<void>): Promise<void> {
  const platforms = world.special.platforms ?? (await startPlatforms());
  const specs = [...deliverySpecs(world.env, ['tiktok']), replaySpec(world.env)];
  const settings = await openSettings(world);
  try {
    await beginAtEnd(world, 'delivery.tiktok', TOPICS.identified);
    await world.fleet.start(specs);
    await task({ edge: world.edges[0] as string, platforms, settings });
  } finally {
    await settings.close();
    for (const { name } of specs) await world.fleet.stop(name);
    if (world.special.platforms === undefined) await stopPlatforms(platforms);
  }
}
