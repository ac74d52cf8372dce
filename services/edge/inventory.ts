import { clientAddress, type HttpRequestIn, type HttpServer } from '#infra/http/http_server.ts';
import type { PartitionSender } from '#infra/kafka/sender.ts';
import { INVENTORY_PAGES_MAX, type InventoryMemory } from '#infra/redis/inventory.ts';
import type { Codec } from '#infra/registry/codec.ts';
import { contentHash, readInventory } from '#pipelines/intake/inventory.ts';
import type { Limited } from '#pipelines/quota/limits.ts';
import type { InventoryRecord } from '#schemas/records.ts';
import { partitionOf } from '#schemas/wire.ts';
import { BODY_BYTES_MAX, hasBody, parseJson, unpackedBody } from './body.ts';
import { type EdgeContext, eventScope } from './edge_context.ts';
import { type Answer, errorAnswer, errorCodeOf, limitedAnswer, refusal, sendAnswer } from './errors.ts';
import type { IngestCaller } from './ingest_service.ts';

export interface InventoryOptions {
  sender: PartitionSender;
  codec: Pick<Codec<InventoryRecord>, 'encode'>;
  memory: InventoryMemory;
  partitions: number;
  randomId(): string;
  nowMs(): number;
}

export type InventoryIntake = (request: HttpRequestIn, caller: IngestCaller) => Promise<Answer>;

/** POST /v1/inventory. Each request counts against the rate, also where nothing of it is taken. */
export function mountInventory(app: HttpServer, context: EdgeContext, inventory: InventoryIntake): void {
  const { ingestService, requireApiKey, limitBodySize, limitRate, callerOf, rejections } = context;
  const answerOf = async (request: HttpRequestIn): Promise<Answer> => {
    const caller = callerOf(request);
    const limited = await ingestService.countRefused(clientAddress(request), caller, null);
    if (limited !== null) return limitedAnswer(limited);
    const answer = hasBody(request) ? await inventory(request, caller) : refusal('content_type_unsupported');
    const code = errorCodeOf(answer);
    if (code !== null) rejections.recordRequest({ siteId: caller.site.site_id, key: caller.key }, code);
    return answer;
  };
  eventScope(app, context, {}, (scope) => {
    scope.post('/v1/inventory', { onRequest: [requireApiKey, limitBodySize, limitRate] }, async (request, reply) =>
      sendAnswer(reply, await answerOf(request)),
    );
  });
}

/** Stores what a tag found on a page, unless the key sent the same of that page last. */
export function createInventory(options: InventoryOptions): InventoryIntake {
  return async (request, { key, site }) => {
    const bytes = unpackedBody(request, BODY_BYTES_MAX);
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
    const standing = await options.memory.look(key.key_hash, inventory.page, found);
    if (standing === 'known') return accepted(0);
    if (standing === 'full') return limitedAnswer(fullUntilTomorrow(options.nowMs()));
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

/** A key has sent as many new pages as it may in a day. */
function fullUntilTomorrow(nowMs: number): Limited {
  const waitMs = DAY_MS - (nowMs % DAY_MS);
  return { ok: false, kind: 'key', waitMs, rate: { limit: INVENTORY_PAGES_MAX, remaining: 0, resetMs: waitMs } };
}

const DAY_MS = 86_400_000;

function accepted(count: number): Answer {
  return { status: 200, body: { accepted: count } };
}
