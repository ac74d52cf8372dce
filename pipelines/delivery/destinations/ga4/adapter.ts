import type {
  Adapter,
  Answer,
  HttpRequest,
  RequestContext,
  SerializedEvent,
  Verdict,
} from '#pipelines/delivery/contract.ts';
import { addressOf, classifyAnswer, DELIVERED, joined, postJson } from '#pipelines/delivery/platform_http.ts';
import { GA4_SCHEMA, type Ga4Settings, mapEvent, REGION_URLS } from './map.ts';

/** How far back the Measurement Protocol dates events. */
const AGE_MAX_MS = 72 * 3_600_000;
/** Room for what a request says of its visitor; a user agent alone may have 1,000 characters. */
const ENVELOPE_BYTES_MAX = 16_000;

function request(pieces: readonly SerializedEvent[], context: RequestContext<Ga4Settings>): HttpRequest {
  const { settings } = context;
  const platform = REGION_URLS[settings.region];
  const address = addressOf(context.baseUrl, settings.base_url ?? platform, platform);
  const query = new URLSearchParams({ measurement_id: settings.measurement_id, api_secret: settings.api_secret });
  const behaviour = settings.validation === 'enforced' ? '"validation_behavior":"ENFORCE_RECOMMENDATIONS",' : '';
  const forms = joined(pieces);
  return postJson(
    address,
    `/mp/collect?${query.toString()}`,
    `${context.group.slice(0, -1)},${behaviour}"events":[${forms}]}`,
  );
}

/**
 * The Measurement Protocol answers 2xx to every request it could read and says nothing of the events in it, so 2xx is
 * final whatever the body holds. Anything else says that the request was not taken, and is judged by its status.
 */
const classify = (answer: Answer): Verdict =>
  classifyAnswer(answer, (_body, { status }) => (status >= 200 && status <= 299 ? DELIVERED : null));

/** Google Analytics 4 by the Measurement Protocol. */
export const ga4: Adapter<Ga4Settings> = {
  name: 'ga4',
  title: 'Google Analytics 4',
  schema: GA4_SCHEMA,
  anonymousEvents: 'send',
  advertising: 'none',
  repetition: 'at_least_once',
  limits: () => ({ batchEventsMax: 25, batchBytesMax: 130_000, concurrencyMax: 8, timeoutMs: 10_000 }),
  ageMaxMs: () => AGE_MAX_MS,
  map: mapEvent,
  overheadBytes: () => ENVELOPE_BYTES_MAX,
  request,
  classify,
};
