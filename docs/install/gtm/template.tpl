___INFO___

{
  "type": "TAG",
  "id": "cvt_temp_public_id",
  "version": 1,
  "securityGroups": [],
  "displayName": "Svc tag",
  "categories": [
    "ANALYTICS",
    "CONVERSIONS"
  ],
  "brand": {
    "id": "brand_dummy",
    "displayName": ""
  },
  "description": "Loads the tag of your event ingest service from its edge, or sends an event through it.",
  "containerContexts": [
    "WEB"
  ]
}


___TEMPLATE_PARAMETERS___

[
  {
    "type": "RADIO",
    "name": "action",
    "displayName": "What it does",
    "radioItems": [
      {
        "value": "load",
        "displayValue": "Load the tag (once, on all pages)"
      },
      {
        "value": "event",
        "displayValue": "Send an event"
      }
    ],
    "simpleValueType": true,
    "defaultValue": "load"
  },
  {
    "type": "TEXT",
    "name": "edge",
    "displayName": "Address of the edge",
    "valueHint": "https://edge.example",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "load",
        "type": "EQUALS"
      }
    ],
    "valueValidators": [
      {
        "type": "NON_EMPTY",
        "errorMessage": "The address is missing."
      },
      {
        "type": "REGEX",
        "args": [
          "^https://[^/?#]+$"
        ],
        "errorMessage": "https and the host, without a slash at the end."
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "key",
    "displayName": "Browser key",
    "valueHint": "svc_pk_YOUR_KEY",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "load",
        "type": "EQUALS"
      }
    ],
    "valueValidators": [
      {
        "type": "NON_EMPTY",
        "errorMessage": "The key is missing."
      },
      {
        "type": "REGEX",
        "args": [
          "^svc_pk_.+$"
        ],
        "errorMessage": "A browser key begins with svc_pk_; a server key must not stand in a page."
      }
    ]
  },
  {
    "type": "RADIO",
    "name": "consent",
    "displayName": "Where consent comes from",
    "radioItems": [
      {
        "value": "container",
        "displayValue": "This container's consent mode",
        "help": "For consent tools that run in this container. A consent type that nobody has set counts as granted."
      },
      {
        "value": "site",
        "displayValue": "The page and the site's settings",
        "help": "The tag reads gtag's consent mode and TCF in the page by itself."
      }
    ],
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "load",
        "type": "EQUALS"
      }
    ],
    "valueValidators": [
      {
        "type": "NON_EMPTY",
        "errorMessage": "Choose where consent comes from."
      }
    ]
  },
  {
    "type": "CHECKBOX",
    "name": "manual",
    "checkboxText": "No page is an event until the page says so",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "load",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "event",
    "displayName": "Name of the event",
    "valueHint": "purchase",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "event",
        "type": "EQUALS"
      }
    ],
    "valueValidators": [
      {
        "type": "NON_EMPTY",
        "errorMessage": "The name is missing."
      }
    ]
  },
  {
    "type": "SIMPLE_TABLE",
    "name": "properties",
    "displayName": "Properties",
    "simpleTableColumns": [
      {
        "defaultValue": "",
        "displayName": "Name",
        "name": "name",
        "type": "TEXT"
      },
      {
        "defaultValue": "",
        "displayName": "Value",
        "name": "value",
        "type": "TEXT"
      }
    ],
    "help": "What a variable gives keeps its type; a value that is typed here is a text.",
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "event",
        "type": "EQUALS"
      }
    ]
  },
  {
    "type": "TEXT",
    "name": "uuid",
    "displayName": "Id of the event",
    "help": "Where a server reports the same event under it. Empty: the tag makes one.",
    "simpleValueType": true,
    "enablingConditions": [
      {
        "paramName": "action",
        "paramValue": "event",
        "type": "EQUALS"
      }
    ]
  }
]


___SANDBOXED_JS_FOR_WEB_TEMPLATE___

const addConsentListener = require('addConsentListener');
const callInWindow = require('callInWindow');
const copyFromWindow = require('copyFromWindow');
const createQueue = require('createQueue');
const encodeUriComponent = require('encodeUriComponent');
const injectScript = require('injectScript');
const isConsentGranted = require('isConsentGranted');
const makeNumber = require('makeNumber');
const makeTableMap = require('makeTableMap');
const setInWindow = require('setInWindow');

// A page without the stub gets a queue, which the tag empties when it comes and answers at once afterwards.
if (!copyFromWindow('svc')) setInWindow('svc', { q: [] });

// A tag that came without a queue has its functions only.
const call = copyFromWindow('svc.q')
  ? createQueue('svc.q')
  : (args) => callInWindow('svc.' + args[0], args[1], args[2], args[3]);

const tellConsent = () => {
  const granted = {};
  const tell = () =>
    call(['consent', { analytics: granted.analytics_storage, ads: granted.ad_storage && granted.ad_user_data }]);
  ['analytics_storage', 'ad_storage', 'ad_user_data'].forEach((type) => {
    granted[type] = isConsentGranted(type);
    addConsentListener(type, (changed, isGranted) => {
      granted[changed] = isGranted;
      tell();
    });
  });
  tell();
};

if (data.action === 'event') {
  const properties = makeTableMap(data.properties || [], 'name', 'value') || {};
  // The platforms want a number, and a table of texts has none.
  if (properties.value !== undefined) properties.value = makeNumber(properties.value);
  call(['track', data.event, properties, data.uuid ? { uuid: data.uuid } : {}]);
  data.gtmOnSuccess();
} else {
  if (data.consent === 'container') tellConsent();
  const url = data.edge + '/svc.min.js?key=' + encodeUriComponent(data.key) + (data.manual ? '&pages=manual' : '');
  injectScript(url, data.gtmOnSuccess, data.gtmOnFailure, 'svc');
}


___WEB_PERMISSIONS___

[
  {
    "instance": {
      "key": {
        "publicId": "inject_script",
        "versionId": "1"
      },
      "param": [
        {
          "key": "urls",
          "value": {
            "type": 2,
            "listItem": [
              {
                "type": 1,
                "string": "https://*/svc.min.js"
              },
              {
                "type": 1,
                "string": "https://*/svc.min.js?*"
              }
            ]
          }
        }
      ]
    },
    "clientAnnotations": {
      "isEditedByUser": true
    },
    "isRequired": true
  },
  {
    "instance": {
      "key": {
        "publicId": "access_globals",
        "versionId": "1"
      },
      "param": [
        {
          "key": "keys",
          "value": {
            "type": 2,
            "listItem": [
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "svc"
                  },
                  {
                    "type": 8,
                    "boolean": true
                  },
                  {
                    "type": 8,
                    "boolean": true
                  },
                  {
                    "type": 8,
                    "boolean": false
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "svc.q"
                  },
                  {
                    "type": 8,
                    "boolean": true
                  },
                  {
                    "type": 8,
                    "boolean": true
                  },
                  {
                    "type": 8,
                    "boolean": false
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "svc.track"
                  },
                  {
                    "type": 8,
                    "boolean": true
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "key"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  },
                  {
                    "type": 1,
                    "string": "execute"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "svc.consent"
                  },
                  {
                    "type": 8,
                    "boolean": true
                  },
                  {
                    "type": 8,
                    "boolean": false
                  },
                  {
                    "type": 8,
                    "boolean": true
                  }
                ]
              }
            ]
          }
        }
      ]
    },
    "clientAnnotations": {
      "isEditedByUser": true
    },
    "isRequired": true
  },
  {
    "instance": {
      "key": {
        "publicId": "access_consent",
        "versionId": "1"
      },
      "param": [
        {
          "key": "consentTypes",
          "value": {
            "type": 2,
            "listItem": [
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "consentType"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "analytics_storage"
                  },
                  {
                    "type": 8,
                    "boolean": true
                  },
                  {
                    "type": 8,
                    "boolean": false
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "consentType"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "ad_storage"
                  },
                  {
                    "type": 8,
                    "boolean": true
                  },
                  {
                    "type": 8,
                    "boolean": false
                  }
                ]
              },
              {
                "type": 3,
                "mapKey": [
                  {
                    "type": 1,
                    "string": "consentType"
                  },
                  {
                    "type": 1,
                    "string": "read"
                  },
                  {
                    "type": 1,
                    "string": "write"
                  }
                ],
                "mapValue": [
                  {
                    "type": 1,
                    "string": "ad_user_data"
                  },
                  {
                    "type": 8,
                    "boolean": true
                  },
                  {
                    "type": 8,
                    "boolean": false
                  }
                ]
              }
            ]
          }
        }
      ]
    },
    "clientAnnotations": {
      "isEditedByUser": true
    },
    "isRequired": true
  }
]


___TESTS___

scenarios:
- name: Loads the tag from the edge with the key
  code: |-
    let loaded;
    mock('copyFromWindow', key => key === 'svc' ? {} : []);
    mock('createQueue', () => () => {});
    mock('injectScript', (url, onSuccess) => {
      loaded = url;
      onSuccess();
    });
    runCode({ action: 'load', edge: 'https://edge.example', key: 'svc_pk_a', consent: 'site' });
    assertApi('injectScript').wasCalled();
    assertThat(loaded).isEqualTo('https://edge.example/svc.min.js?key=svc_pk_a');
    assertApi('gtmOnSuccess').wasCalled();
- name: Says what the container's consent mode says
  code: |-
    const calls = [];
    mock('copyFromWindow', key => key === 'svc' ? {} : []);
    mock('createQueue', () => args => calls.push(args));
    mock('isConsentGranted', type => type === 'analytics_storage');
    mock('addConsentListener', () => {});
    mock('injectScript', (url, onSuccess) => onSuccess());
    runCode({ action: 'load', edge: 'https://edge.example', key: 'svc_pk_a', consent: 'container' });
    assertThat(calls).isEqualTo([['consent', { analytics: true, ads: false }]]);
- name: Sends an event through the queue
  code: |-
    const calls = [];
    mock('copyFromWindow', key => key === 'svc' ? {} : []);
    mock('createQueue', () => args => calls.push(args));
    runCode({ action: 'event', event: 'purchase', properties: [{ name: 'value', value: '12.5' }], uuid: 'order-1' });
    assertThat(calls).isEqualTo([['track', 'purchase', { value: 12.5 }, { uuid: 'order-1' }]]);
setup: ''


___NOTES___

How to use it is in docs/install/gtm.md.
