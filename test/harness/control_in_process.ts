import { controlConfig } from '#infra/config/control_config.ts';
import type { Environment } from '#infra/config/environment.ts';
import type { HttpServer } from '#infra/http/http_server.ts';
import { openKafka } from '#infra/kafka/client.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createRegistry } from '#infra/registry/schema_registry.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { openControlApp } from '#services/control/open_app.ts';
import { type ControlClient, createControlClient, type Transport } from '#services/control_api/client.ts';

/** A control service inside the caller's process, without a port. */
export interface OpenControl {
  client: ControlClient;
  /** For requests as browsers send them. */
  app: HttpServer;
  close(): Promise<void>;
}

/**
 * Opens the control service on the parts that an environment names, where no control process runs. Its
 * `CONTROL_FIRST_TOKEN_SHA256` must be the hash of the token given. A control process that does run is fenced by its
 * first change, and opens the topic anew at its own next one.
 */
export async function openControl(env: Environment, token: string, logger: Logger): Promise<OpenControl> {
  const config = controlConfig(
    env,
    DESTINATIONS.map(({ name }) => name),
  );
  const session = await openKafka(config.parts.kafka, 'svc.control.once', logger);
  const stops: (() => Promise<unknown>)[] = [() => session.stop()];
  let failure: unknown = null;
  const fatal = (error: unknown): void => {
    failure ??= error;
  };
  const app = await openControlApp({
    config,
    session,
    registry: createRegistry(config.parts.registryUrl),
    logger,
    errors: { record: fatal, succeeded: () => undefined },
    fatal,
    onStop: (task) => stops.push(task),
    dashboard: async () => null,
  });
  stops.push(() => app.close());
  const transport: Transport = async (request) => {
    const answer = await injected(app)(request);
    if (failure !== null) throw failure;
    return answer;
  };
  return {
    client: createControlClient(transport, token),
    app,
    async close() {
      for (const stop of stops.toReversed()) await stop();
    },
  };
}

/** Carries requests to an app without a socket. */
export function injected(app: HttpServer): Transport {
  return async ({ method, path, headers, body }) => {
    const payload = body === null ? {} : { payload: body };
    const response = await app.inject({ method: method as 'GET', url: path, headers, ...payload });
    return { status: response.statusCode, body: response.body, bytes: response.rawPayload };
  };
}
