import type { HttpReply, HttpRequestIn, HttpServer } from '#infra/http/http_server.ts';
import { checkKey } from '#pipelines/settings/keys.ts';
import type { EdgeContext } from '#services/edge/edge_context.ts';
import { posthogRefusal } from './posthog.ts';

/** Where PostHog's browser library asks how to behave: first by a script of this name, then in JSON. */
export const REMOTE_CONFIG_PATHS = ['/array/:key/config.js', '/array/:key/config'] as const;
const CACHE = 'public, max-age=300';

/** Events are taken and nothing else is there: no recordings, surveys, flags, heat maps or apps. */
const REMOTE_CONFIG = {
  supportedCompression: ['gzip', 'gzip-js', 'base64'],
  analytics: { endpoint: '/i/v0/e/' },
  hasFeatureFlags: false,
  sessionRecording: false,
  surveys: false,
  heatmaps: false,
  captureDeadClicks: false,
  capturePerformance: false,
  autocaptureExceptions: false,
  elementsChainAsString: true,
  defaultIdentifiedOnly: true,
  toolbarParams: {},
  isAuthenticated: false,
  siteApps: [],
};

/** The routes by which PostHog's browser library gets its remote configuration. */
export function mountRemoteConfig(app: HttpServer, { table, nowMs }: EdgeContext): void {
  const keyOf = (request: HttpRequestIn): string => (request.params as { key: string }).key;
  const answerWith = (type: string, textOf: (key: string) => string) => {
    return (request: HttpRequestIn, reply: HttpReply): HttpReply => {
      const check = checkKey(table, keyOf(request), request.headers.origin ?? null, nowMs());
      if (!check.ok || check.key.caller === 'server') {
        const { status, body } = posthogRefusal(check.ok ? 'key_not_for_browsers' : check.code, []);
        return reply.code(status).send(body);
      }
      return reply
        .header('cache-control', CACHE)
        .header('vary', 'Origin')
        .type(type)
        .send(textOf(keyOf(request)));
    };
  };
  const [script, json] = REMOTE_CONFIG_PATHS;
  app.get(script, answerWith('text/javascript; charset=utf-8', configScript));
  app.get(
    json,
    answerWith('application/json; charset=utf-8', (key) => JSON.stringify({ token: key, ...REMOTE_CONFIG })),
  );
}

function configScript(key: string): string {
  const config = JSON.stringify({ config: { token: key, ...REMOTE_CONFIG }, siteApps: [] });
  return `(function(w){(w._POSTHOG_REMOTE_CONFIG=w._POSTHOG_REMOTE_CONFIG||{})[${JSON.stringify(key)}]=${config}})(window);\n`;
}
