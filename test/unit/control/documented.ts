import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { controlDocument } from '#services/control/routes.ts';

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: unknown }>; headers?: Record<string, unknown> }>;
}

const document = controlDocument() as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, TSchema> };
};

const TEMPLATES = Object.entries(document.paths).map(
  ([template, operations]) => [new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`), operations] as const,
);
/** Schemas of answers, with what they refer to in its place. */
const whole = new WeakMap<object, TSchema>();

/** What of an answer the document does not say; empty: it is as documented. Unknown paths and methods are no operation. */
export function undocumented(method: string, url: string, status: number, body: unknown): string[] {
  const operation = operationOf(method, url);
  if (operation === undefined) return [];
  const response = operation.responses[String(status)];
  if (response === undefined) return [`${method} ${url}: status ${status} is not documented`];
  const [content] = Object.values(response.content ?? {});
  if (content === undefined) return [];
  const schema = whole.get(content) ?? (resolved(content.schema) as TSchema);
  whole.set(content, schema);
  return [...Value.Errors(schema, body)].map((error) => `${method} ${url}: ${error.instancePath} ${error.message}`);
}

function operationOf(method: string, url: string): Operation | undefined {
  const path = url.split('?')[0] ?? '';
  return TEMPLATES.find(([template]) => template.test(path))?.[1][method.toLowerCase()];
}

/** References are looked up, as the document's reader would. */
export function resolved(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(resolved);
  const ref: unknown = Reflect.get(value, '$ref');
  if (typeof ref !== 'string')
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolved(item)]));
  const schema = document.components.schemas[ref.replace('#/components/schemas/', '')];
  if (schema === undefined) throw new Error(`${ref} names nothing`);
  return resolved(schema);
}
