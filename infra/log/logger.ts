import { type Logger, pino } from 'pino';

export type { Logger };

/**
 * A structured logger for one process. Payloads are never logged: callers pass codes, counts, names and
 * coordinates. Errors are written as code, message and stack, never with their other fields.
 */
export function createLogger(stage: string, level = 'info'): Logger {
  return pino({ name: stage, level, serializers: { err: errorFields } });
}

function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: typeof error };
  const code = (error as { code?: unknown }).code;
  return {
    name: error.name,
    message: error.message,
    stack: error.stack,
    ...(typeof code === 'string' ? { code } : {}),
    ...(error.cause instanceof Error ? { cause: errorFields(error.cause) } : {}),
  };
}
