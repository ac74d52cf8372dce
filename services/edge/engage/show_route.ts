import type { HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import { decide, fitting, inShare, type Look, overOn } from '#pipelines/engage/decide.ts';
import { bodyReader, type EngageRequest, engageShape } from '#pipelines/engage/engage_request.ts';
import { issueEngageToken } from '#pipelines/engage/engage_token.ts';
import { type ReadyItem, siteEngage } from '#pipelines/engage/site_engage.ts';
import type { SeenItem } from '#pipelines/engage/visitor_memory.ts';
import type { Site } from '#schemas/setting.ts';
import type { IngestCaller } from '../accept.ts';
import { sendAnswer } from '../answer.ts';
import type { EdgeContext } from '../edge_context.ts';
import { invalidBody, readEngageBody } from './engage_body.ts';
import type { EngageMount } from './engage_parts.ts';
import { idsOf, lookOf, shareIdOf } from './engage_visitor.ts';
import { createNonces } from './nonces.ts';

/** A page that stays open asks again after this. */
const NEXT_CHECK_MS = 60_000;

const readBody = bodyReader(engageShape);

/** POST /v1/engage: what of a site's surveys, promos and forms a visitor is shown on a page. 204: the site has none. */
export function mountShow(app: HttpServer, context: EdgeContext, { parts, rate, hooks }: EngageMount): void {
  const { callerOf, table } = context;
  const nonce = createNonces(parts.randomBytes);

  async function shownItems(request: HttpRequestIn, body: EngageRequest, caller: IngestCaller): Promise<string | null> {
    const visitor = body.visitor ?? {};
    const { site } = caller;
    const ids = idsOf(visitor, caller, parts.identitySecret);
    const look = lookOf(request, { url: body.page.url, visitor, site }, context.nowMs());
    if (look === null) return null;
    const { items } = siteEngage(table.engageItems(site.site_id));
    const candidates = fitting(items, look);
    const { rememberedId } = ids;
    const isKnown = candidates.length > 0 && rememberedId !== null;
    const memory = isKnown ? await parts.memory.read(site.site_id, rememberedId) : null;
    const shareId = memory?.personId ?? shareIdOf(request, site, ids);
    const shown = decide(inShare(candidates, shareId, parts.secret), look, browserMemory(body, look.nowMs), memory);
    const over = overOn(body.open ?? [], items, look);
    return answerOf(
      shown.map((item) => withToken(item, visitor.locale ?? null, site, look)),
      over,
    );
  }

  function withToken(item: ReadyItem, locale: string | null, { site_id: siteId }: Site, { nowMs }: Look): string {
    const subject = { siteId, name: item.name, version: item.version };
    const token = issueEngageToken(parts.secret, subject, nowMs, nonce());
    return `${item.answerIn(locale)},"token":"${token}"}`;
  }

  app.post('/v1/engage', { onRequest: hooks }, async (request, reply) => {
    const caller = callerOf(request);
    const { site } = caller;
    reply.header('cache-control', 'no-store');
    const limited = await rate.refusal(request);
    if (limited !== null) return sendAnswer(reply, limited);
    const read = readEngageBody(request, readBody);
    const isOpenSomewhere = read.ok && (read.body.open ?? []).length > 0;
    const { items } = siteEngage(table.engageItems(site.site_id));
    if (items.length === 0 && !isOpenSomewhere) return reply.code(204).send();
    if (!read.ok) return sendAnswer(reply, read.answer);
    const answer = await shownItems(request, read.body, caller);
    if (answer === null) return sendAnswer(reply, invalidBody('page.url'));
    return reply.type('application/json; charset=utf-8').send(answer);
  });
}

const answerOf = (items: readonly string[], over: readonly string[]): string =>
  `{"items":[${items.join(',')}],"over":${JSON.stringify(over)},"next_check_ms":${NEXT_CHECK_MS}}`;

/** Clocks of visitors' devices are right to an hour mostly. */
const CLOCK_AHEAD_MS = 3_600_000;

/** A time that is far ahead is of a wrong clock and says nothing of when: taken as it is, it would keep everything from the visitor until then. */
function browserMemory({ seen = {} }: EngageRequest, nowMs: number): Map<string, SeenItem> {
  const past = (ms: number): number => (ms > nowMs + CLOCK_AHEAD_MS ? 0 : Math.min(ms, nowMs));
  return new Map(
    Object.entries(seen).map(([name, { n, last, done }]) => [
      name,
      { times: n, lastMs: past(last), doneMs: done === undefined ? null : past(done) },
    ]),
  );
}
