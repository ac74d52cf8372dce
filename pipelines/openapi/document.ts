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
  params: TObject | null;
  query: TObject | null;
  headers: TObject | null;
  /** Schema of the request body by content type, and a body as people would send it. */
  body: DocumentedBody | null;
  responses: DocumentedResponse[];
  /** Ways to authenticate, any of which does; empty: none is needed. */
  security: string[];
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

export interface DocumentOptions {
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
    security: route.security.map((name) => ({ [name]: [] })),
    ...(route.permissions === undefined ? {} : { 'x-permissions': route.permissions }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === null ? {} : { requestBody: requestBody(route.body, names) }),
    responses: Object.fromEntries(route.responses.map((item) => [String(item.status), response(item, names)])),
  };
}

function parametersOf(place: string, schema: TObject | null, names: Names): Json[] {
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

function requestBody(body: NonNullable<DocumentedRoute['body']>, names: Names): Json {
  return { required: true, content: bodyContent(body, names) };
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
