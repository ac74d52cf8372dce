import type { World } from './fault_world.ts';

/** Has ClickHouse do what a statement says. */
export async function runStatement({ ready }: Pick<World, 'ready'>, body: string): Promise<void> {
  const { username, password, origin, pathname } = new URL(ready.clickhouse);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const response = await fetch(`${origin}${pathname}`, { method: 'POST', body, headers: { authorization } });
  if (!response.ok) throw new Error(`clickhouse answered ${response.status}: ${await response.text()}`);
}
