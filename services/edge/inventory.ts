import type { HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import type { PartitionSender } from '#infra/kafka/producer/sender.ts';
import type { InventoryMemory } from '#infra/redis/inventory.ts';
import type { Codec } from '#infra/registry/codec.ts';
import { contentHash, readInventory } from '#pipelines/intake/inventory.ts';
import type { InventoryRecord } from '#schemas/inventory.ts';
import { partitionOf } from '#schemas/partition.ts';
import type { IngestCaller } from './accept.ts';
import { type Answer, errorCodeOf, refusal, sendAnswer } from './answer.ts';
import { BODY_BYTES_MAX, decompress, parseJson } from './decode.ts';
import type { EdgeContext } from './edge_context.ts';
import { errorAnswer } from './errors.ts';
import { hasBody } from './payload.ts';

export interface InventoryOptions {
  sender: PartitionSender;
  codec: Pick<Codec<InventoryRecord>, 'encode'>;
  memory: InventoryMemory;
  partitions: number;
  randomId(): string;
  nowMs(): number;
}

/** Answers a request that says what a tag found. */
export type InventoryIntake = (request: HttpRequestIn, caller: IngestCaller) => Promise<Answer>;

/** POST /v1/inventory. */
export function mountInventory(
  app: HttpServer,
  { keyed, sized, callerOf, refusals }: EdgeContext,
  inventory: InventoryIntake,
): void {
  app.post('/v1/inventory', { onRequest: [keyed, sized] }, async (request, reply) => {
    const caller = callerOf(request);
    const answer = hasBody(request) ? await inventory(request, caller) : refusal('content_type_unsupported');
    const code = errorCodeOf(answer);
    if (code !== null) refusals.sawRequest({ siteId: caller.site.site_id, key: caller.key }, code);
    return sendAnswer(reply, answer);
  });
}

/** Stores what a tag found on a page, unless the key sent the same of that page last. */
export function createInventory(options: InventoryOptions): InventoryIntake {
  return async (request, { key, site }) => {
    const bytes = decompress(request.body as Buffer, request.headers['content-encoding'], BODY_BYTES_MAX);
    const body = bytes.ok ? parseJson(bytes.value) : bytes;
    if (!body.ok) return refusal(body.code);
    const countries = site.default_country === null ? [] : [site.default_country];
    const read = readInventory(body.value, site.mode === 'offline', countries);
    if (!read.ok) {
      const { status, body: problem } = errorAnswer(read.code);
      return { status, body: read.index === null ? problem : { error: { ...problem.error, index: read.index } } };
    }
    const { inventory } = read;
    const found = contentHash(inventory);
    if (await options.memory.isKnown(key.key_hash, inventory.page, found)) return accepted(0);
    const record: InventoryRecord = {
      site_id: site.site_id,
      inventory_id: options.randomId(),
      ...inventory,
      content_hash: found,
      received_at: options.nowMs(),
    };
    const partition = partitionOf(site.site_id, options.partitions);
    const sent = await options.sender.send(partition, options.codec.encode(record));
    if (!sent.ok) return refusal(sent.code === 'not_acknowledged' ? 'not_acknowledged' : 'overloaded');
    await options.memory.remember(key.key_hash, inventory.page, found);
    return accepted(inventory.elements.length);
  };
}

function accepted(count: number): Answer {
  return { status: 200, body: { accepted: count } };
}
