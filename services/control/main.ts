import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import { controlConfig } from '#infra/config/control_config.ts';
import { listen } from '#infra/http/http_server.ts';
import { createRequestErrors } from '#infra/http/request_errors.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { runProcess } from '#services/stage/runtime.ts';
import { createDashboard } from './dashboard_files.ts';
import { openControlApp } from './open_app.ts';
import { traceRequests } from './request_spans.ts';

const NAMES = DESTINATIONS.map(({ name }) => name);

/** HTTP -> site.config: the only writer of settings. What follows the topic goes on without it. */
runProcess(
  'control',
  (env) => controlConfig(env, NAMES),
  async (runtime, config) => {
    const { session, registry, logger, metrics, tracer, fatal, onStop } = runtime;
    const errors = createRequestErrors({
      metrics,
      logger,
      nowMs: monotonicMs,
      inARowMax: config.requestErrorsMax,
      fatal,
    });
    const dashboard = createDashboard(logger);
    // Nobody shall wait for it; a failure is logged and answered with 503.
    void dashboard();
    const app = await openControlApp({
      config,
      session,
      registry,
      logger,
      errors,
      fatal,
      onStop,
      dashboard,
    });
    if (tracer !== null) traceRequests(app, tracer, { nowMs: Date.now, monotonicMs, random: Math.random });
    const port = await listen(app, config.host, config.port);
    onStop(() => app.close());
    runtime.ready({ url: `http://${config.host}:${port}` });
  },
);
