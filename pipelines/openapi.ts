// OpenAPI documents, and the page that shows one.
import type { TObject, TSchema } from 'typebox';

/** One operation as it is documented. */
export interface DocumentedRoute {
  method: string;
  /** With parameters in braces. */
  path: string;
  operationId: string;
  tag: string;
  summary: string;
  /** Path, query and header parameters: an object schema each. */
  params?: TObject | null;
  query?: TObject | null;
  headers?: TObject | null;
  /** Schema of the request body by content type, and a body as people would send it. */
  body?: DocumentedBody | null;
  responses: DocumentedResponse[];
  /** Ways to authenticate, any of which does; left out: none is needed. */
  security?: string[];
  /** What it takes beside that, any of which may be needed by what is asked; left out: nothing. */
  permissions?: readonly string[];
}

interface DocumentedBody {
  contentTypes: string[];
  schema: TSchema;
  example?: object | string;
  /** What is sent as other content types, which hold the same in another form. */
  otherwise?: DocumentedBody;
}

export interface DocumentedResponse {
  status: number;
  description: string;
  /** Null: there is no body. */
  schema: TSchema | null;
  contentType?: string;
  /** Schemas of other content types that a client may ask for. */
  otherwise?: Record<string, TSchema>;
  /** Header names with their description. */
  headers?: Record<string, string>;
}

interface ErrorTable<Code extends string> {
  errors: Readonly<Record<Code, { status: number; message: string }>>;
  schema: TSchema;
  /** Where a protocol gives other statuses than the table. */
  statusOf?(code: Code): number;
  /** Statuses whose answers say when to come again; left out: 503. */
  retried?: readonly number[];
}

/** One response for each status, naming the codes it may carry. */
export function failuresByStatus<Code extends string>(
  codes: readonly Code[],
  { errors, schema, statusOf = (code) => errors[code].status, retried = [503] }: ErrorTable<Code>,
): DocumentedResponse[] {
  return [...Map.groupBy(new Set(codes), statusOf)]
    .sort(([a], [b]) => a - b)
    .map(([status, group]) => ({
      status,
      description: group.map((code) => `\`${code}\`: ${errors[code].message}`).join('\n\n'),
      schema,
      ...(retried.includes(status) ? { headers: { 'Retry-After': 'Seconds to wait' } } : {}),
    }));
}

interface DocumentOptions {
  title: string;
  version: string;
  description: string;
  routes: readonly DocumentedRoute[];
  /** Schemas that get a name; wherever the same value stands in another schema it becomes a reference. */
  components: Record<string, TSchema>;
  securitySchemes: Record<string, object>;
}

type Json = Record<string, unknown>;

/** An OpenAPI 3.1 document. Its schemas are the ones given, as those that validate: JSON Schema 2020-12 as it stands. */
export function openApiDocument(options: DocumentOptions): Json {
  const names = new Map(Object.entries(options.components).map(([name, schema]) => [schema as object, name]));
  const paths: Record<string, Json> = {};
  for (const route of options.routes) {
    const item = paths[route.path] ?? {};
    item[route.method.toLowerCase()] = operation(route, names);
    paths[route.path] = item;
  }
  const schemas = Object.entries(options.components).map(([name, schema]) => [name, inner(schema, names)]);
  return {
    openapi: '3.1.0',
    info: { title: options.title, version: options.version, description: options.description },
    tags: [...new Set(options.routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: { schemas: Object.fromEntries(schemas), securitySchemes: options.securitySchemes },
  };
}

type Names = ReadonlyMap<object, string>;

function operation(route: DocumentedRoute, names: Names): Json {
  const parameters = [
    ...parametersOf('path', route.params, names),
    ...parametersOf('query', route.query, names),
    ...parametersOf('header', route.headers, names),
  ];
  return {
    operationId: route.operationId,
    summary: route.summary,
    tags: [route.tag],
    security: (route.security ?? []).map((name) => ({ [name]: [] })),
    ...(route.permissions === undefined ? {} : { 'x-permissions': route.permissions }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body ? { requestBody: { required: true, content: bodyContent(route.body, names) } } : {}),
    responses: Object.fromEntries(route.responses.map((item) => [String(item.status), response(item, names)])),
  };
}

function parametersOf(place: string, schema: TObject | null | undefined, names: Names): Json[] {
  const required: readonly string[] = schema?.required ?? [];
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const description = Reflect.get(property, 'description');
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(typeof description === 'string' ? { description } : {}),
      schema: referred(property, names),
    };
  });
}

function bodyContent(body: DocumentedBody, names: Names): Json {
  const example = body.example === undefined ? {} : { example: body.example };
  const content = body.contentTypes.map((type) => [type, { schema: referred(body.schema, names), ...example }]);
  return {
    ...Object.fromEntries(content),
    ...(body.otherwise === undefined ? {} : bodyContent(body.otherwise, names)),
  };
}

function response({ description, schema, contentType, otherwise, headers }: DocumentedResponse, names: Names): Json {
  const others = Object.entries(otherwise ?? {}).map(([type, other]) => [type, { schema: referred(other, names) }]);
  const entries = Object.entries(headers ?? {}).map(([name, says]) => [
    name,
    { description: says, schema: { type: 'string' } },
  ]);
  return {
    description,
    ...(entries.length === 0 ? {} : { headers: Object.fromEntries(entries) }),
    ...(schema === null
      ? {}
      : {
          content: {
            [contentType ?? 'application/json']: { schema: referred(schema, names) },
            ...Object.fromEntries(others),
          },
        }),
  };
}

/** The schema, or a reference where it has a name. */
function referred(value: unknown, names: Names): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const name = names.get(value);
  return name === undefined ? inner(value, names) : { $ref: `#/components/schemas/${name}` };
}

function inner(value: object, names: Names): unknown {
  if (Array.isArray(value)) return value.map((item) => referred(item, names));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, referred(item, names)]));
}

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h2{margin-top:2.5rem;border-bottom:1px solid #d0d7de}code,pre{font:13px/1.45 ui-monospace,monospace}pre{background:#f6f8fa;padding:.75rem;overflow:auto}
details{margin:.4rem 0;border:1px solid #d0d7de;border-radius:6px;padding:.4rem .8rem}summary{cursor:pointer}b.method{display:inline-block;width:4.5rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}pre{background:#161b22}}`;

/** An OpenAPI document as a page for people. It runs no script and loads nothing. */
export function docsPage(document: Json): string {
  const info = document['info'] as { title: string; description: string };
  const schemas = (document['components'] as { schemas: Record<string, unknown> }).schemas;
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>${escaped(info.title)}</title><style>${STYLE}</style></head><body>`,
    `<h1>${escaped(info.title)}</h1><p>${escaped(info.description)}</p>`,
    '<p>For programs: <a href="/docs/openapi.json">/docs/openapi.json</a></p>',
    ...sections(document['paths'] as Record<string, Json>),
    '<h2>Schemas</h2>',
    ...Object.entries(schemas).map(
      ([name, schema]) => `<details id="${name}"><summary>${name}</summary>${json(schema)}</details>`,
    ),
    '</body></html>',
  ].join('\n');
}

interface Operation {
  summary: string;
  tags: string[];
  parameters?: { name: string; in: string; required: boolean; description?: string }[];
  requestBody?: { content: Json };
  responses: Record<string, { description: string; content?: Json }>;
}

function sections(paths: Record<string, Json>): string[] {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation: operation as Operation })),
  );
  return [...Map.groupBy(operations, ({ operation }) => operation.tags[0] ?? '')].flatMap(([tag, group]) => [
    `<h2>${escaped(tag)}</h2>`,
    ...group.map(({ path, method, operation }) => section(path, method, operation)),
  ]);
}

function section(path: string, method: string, operation: Operation): string {
  return [
    `<details><summary><b class="method">${method.toUpperCase()}</b> <code>${escaped(path)}</code> `,
    `${escaped(operation.summary)}</summary>`,
    parameters(operation),
    operation.requestBody === undefined ? '' : body(operation.requestBody.content),
    '<h4>Answers</h4><table>',
    ...Object.entries(operation.responses).map(([status, response]) => answer(status, response)),
    '</table></details>',
  ].join('');
}

function body(content: Json): string {
  const { example } = Object.values(content)[0] as { example?: unknown };
  const shown = example === undefined ? '' : `<h4>Example</h4>${json(example)}`;
  return `${shown}<h4>Body</h4>${json(schemaIn(content))}`;
}

function parameters({ parameters: list = [] }: Operation): string {
  if (list.length === 0) return '';
  const rows = list.map(
    (item) =>
      `<tr><td><code>${escaped(item.name)}</code></td><td>${item.in}${item.required ? ', required' : ''}</td>` +
      `<td>${escaped(item.description ?? '')}</td></tr>`,
  );
  return `<h4>Parameters</h4><table>${rows.join('')}</table>`;
}

function answer(status: string, { description, content }: Operation['responses'][string]): string {
  const text = escaped(description).replaceAll('\n\n', '<br>');
  const schema = content !== undefined && Number(status) < 300 ? json(schemaIn(content)) : '';
  return `<tr><th>${status}</th><td>${text}${schema}</td></tr>`;
}

function schemaIn(content: Json): unknown {
  return (Object.values(content)[0] as { schema?: unknown } | undefined)?.schema;
}

function json(value: unknown): string {
  const text = escaped(JSON.stringify(value, null, 2));
  const links = text.replaceAll(
    /&quot;#\/components\/schemas\/(\w+)&quot;/g,
    (_match, name: string) => `<a href="#${name}">${name}</a>`,
  );
  return `<pre>${links}</pre>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
