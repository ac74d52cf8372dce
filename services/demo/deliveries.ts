import type { Deliveries } from './compare.ts';

export async function readDeliveries(_standin: string, _idPrefix: string): Promise<Deliveries> {
  await Promise.resolve();
  return new Map();
}
