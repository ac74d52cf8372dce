import type { SecretRemoval } from './secret_words.ts';

/** What a person's record gives under a key. */
export type Feed =
  | 'email'
  | 'phone'
  /** Under a word that need not mean a phone. */
  | 'maybe_phone'
  | 'first_name'
  | 'last_name'
  | 'external_id'
  | 'client_ip'
  | 'client_user_agent'
  | 'city'
  | 'state'
  | 'zip'
  | 'country';
/**
 * When the value under a key is removed. `as_place`: when it went into a column. `if_bare_phone`: when
 * it is a phone number and no more. `if_anonymous`: an id of a visitor, in offline
 * mode. `if_offline`: other things that could lead to somebody, in offline mode; of an object that describes a person its
 * members are judged instead. `id_if_offline`: the same, inside such an object.
 */
export type Removal =
  | 'never'
  | 'always'
  | 'if_phone'
  | 'if_bare_phone'
  | 'in_person'
  | 'if_anonymous'
  | 'if_offline'
  | 'id_if_offline'
  | 'as_place';
/** What the value under a key is a number or code of, where that tells it from other numbers. */
export type Names = 'article' | 'id';
/** What the object under a key describes. */
export type Opens = 'plain' | 'person' | 'feeding' | 'context' | 'phone';

/**
 * What goes before what, of several keys that feed the same: the name of the contract (SPEC 2.2) before any other for it,
 * before those of whom to ask, and last those of whom the goods go to.
 */
export const RANKS = { recipient: 0, contact: 1, alias: 2, contract: 3 } as const;

export interface KeyMeaning {
  removal: Removal;
  feeds: Feed | null;
  /** How far what it feeds goes before others: of RANKS. */
  rank: number;
  /** Whether it feeds only from inside a person, because the spelling is too short to be sure elsewhere. */
  feedsInPersonOnly: boolean;
  opens: Opens;
  /** Whether the key itself may hold personal text. */
  suspicious: boolean;
  names: Names | null;
  /** What the value must be to go as a secret. */
  secret: SecretRemoval | null;
  /** Whether the value may be what somebody wrote into a field that another member names. */
  answers: boolean;
}

/**
 * The spellings under which senders put what identifies a person, in lower case without separators: those of Meta's,
 * TikTok's, Google's, Segment's and PostHog's libraries, of shops and of hand-written tags.
 */
export const EMAIL_WORDS =
  'email em mail emailaddress mailaddress emailid useremail usermail customeremail contactemail clientemail buyeremail billingemail shippingemail accountemail loginemail primaryemail personalemail workemail homeemail emailadresse mailadresse emailadres correo correoelectronico courriel adresseemail adressemail epost eposta sahkoposti';
export const PHONE_WORDS =
  'phone phonenumber phoneno phonee164 telephone telephonenumber telnumber mobilephone mobilephonenumber mobilenumber mobileno msisdn cellphone cellphonenumber cellnumber userphone userphonenumber customerphone customerphonenumber contactphone contactnumber billingphone shippingphone homephone workphone primaryphone whatsappnumber fax faxnumber';
/** The same in other languages, as people name the fields of their forms. */
export const FOREIGN_PHONE_WORDS =
  'telefon telefono telefone telefoon telefonnummer telefoonnummer telefonnr telefonszam mobilszam telefonnicislo telefonas telefonu numertelefonu nrtelefonu ceptelefonu telefonno puhelin puhelinnumero matkapuhelin tlf tlfnr handynummer handynr mobilnummer mobilnr rufnummer numerodetelephone numerodetelefono numerodetelefone numeroditelefono telemovel telepon nomortelepon notelp nohp nomorhp sodienthoai dienthoai sdt sốđiệnthoại điệnthoại sđt телефон номертелефона телефонный мобильныйтелефон τηλεφωνο κινητο 电话 电话号码 手机 手机号 手机号码 联系电话 電話 電話番号 携帯 携帯番号 携帯電話 手機 전화 전화번호 휴대폰 휴대폰번호 핸드폰 연락처 هاتف جوال رقمالهاتف رقمالجوال טלפון फोन मोबाइल เบอร์โทร โทรศัพท์';
/** The word itself as it stands in longer names: `broj_telefona`, `رقم_الموبايل`. */
export const PHONE_STEMS =
  'telefonit telefona telefonu telefonica telefonska telefónne telefonní telefoninumber telefonos telepono telefonbimbit nombortelefon mobitela mobitel mobiltelefon mobiltelefonnummer mobiltel puhelinnro símanúmer farsími simu tālruņa telefona_numurs komórkowy komórka telemóvel selfoon selfoonnommer foonu waya телефона телефону телефонен телефонски тэлефон телефонын мобильного мобильный утасны утас телефони հեռախոս հեռախոսահամար ტელეფონი ტელეფონის მობილური ስልክ الهاتف الموبايل موبايل الجوال المحمول محمول تلفن موبایل همراه فون موبائل মোবাইল ফোন फ़ोन मोबाईल தொலைபேசி கைபேசி மொபைல் ఫోన్ మొబైల్ ಫೋನ್ ಮೊಬೈಲ್ ഫോൺ മൊബൈൽ ફોન મોબાઇલ ਫ਼ੋਨ ਮੋਬਾਈਲ දුරකථන ໂທລະສັບ ເບີໂທລະສັບ ເບີໂທ ទូរស័ព្ទ លេខទូរស័ព្ទ ဖုန်း ဖုန်းနံပါတ် 휴대전화 휴대전화번호 行動電話 聯絡電話 手機號碼 電話號碼 移动电话 เบอร์มือถือ เบอร์โทรศัพท์ מספרטלפון';
/** Words that mean a phone only when the value looks like one: `mobile: true` does not. */
export const MAYBE_PHONE_WORDS =
  'waid tel ph mobile mob cell cel whatsapp wa viber handy gsm mobil mobiel celular movil cellulare cellulaire portable natel fon fono fone hp komorka тел моб мобильный נייד';
/** Words that mean a phone when the value looks like one, but not always that of the event's person. */
export const CALLER_WORDS =
  'nationalnumber fullnumber internationalnumber callerid caller callernumber callingnumber callednumber ani dnis smsnumber smsto';
/** Words under which stands a number to call, or as often something else: only what is nothing but a number is removed. */
export const CALL_WORDS = 'sms callback rückruf rueckruf';
/** Words that say that a key speaks of phones, not of somebody's number: `mobile_views`, `phone_verified_at`. */
export const NO_PHONE_PARTS =
  'id ids app apps ad ads view views click clicks visit visits session sessions impression impressions revenue sales orders order count counts total totals sum amount price cost budget value spend version build sku ean model case os device devices traffic conversions users bytes size width height screen page pages site sites web browser token time timestamp at date ts verified created updated url link path campaign utm banner sale score rank area tower';
export const FIRST_NAME_WORDS =
  'firstname fname fn givenname forename userfirstname customerfirstname billingfirstname shippingfirstname';
export const LAST_NAME_WORDS =
  'lastname lname ln surname familyname userlastname customerlastname billinglastname shippinglastname';
export const OTHER_NAME_WORDS =
  'fullname middlename maidenname nickname customername contactname recipientname cardholdername billingname shippingname personname buyername guestname passengername';
/** Words that mean a person's name only inside a person: elsewhere they name products and pages. */
export const PERSON_NAME_WORDS = 'name first last middle displayname line1 line2';
export const STREET_WORDS =
  'street streetaddress streetname street1 street2 address address1 address2 address3 addressline addressline1 addressline2 addressline3 homeaddress billingaddress shippingaddress deliveryaddress mailingaddress postaladdress customeraddress useraddress';
/** What is somebody else's as often as not, who must not become one person with the event's own. */
export const RECIPIENTS_KEY = /^(?:shipping|delivery|recipient|fax)/;
export const CONTACTS_KEY = /^contact/;
/** The names of SPEC 2.2 as they are written there. */
export const CONTRACT_KEYS: ReadonlySet<string> = new Set(
  'email phone first_name last_name city state zip country external_id client_ip_address client_user_agent'.split(' '),
);
export const EXTERNAL_ID_WORDS = 'externalid';
export const IP_WORDS =
  'clientipaddress clientip ip ipaddress userip useripaddress remoteip remoteaddr ipoverride visitorip customerip realip xforwardedfor';
export const USER_AGENT_WORDS = 'clientuseragent useragent rawuseragent useragentstring';
export const CITY_WORDS = 'city';
export const STATE_WORDS = 'state';
export const ZIP_WORDS = 'zip zipcode postalcode postcode cep';
export const COUNTRY_WORDS = 'country countrycode';
/** The same inside a person, where short spellings cannot be mistaken. */
export const PERSON_CITY_WORDS = 'ct town locality';
export const PERSON_STATE_WORDS = 'st region province';
export const PERSON_ZIP_WORDS = 'zp';
export const PERSON_COUNTRY_WORDS = 'countryname';
/** Ids of a visitor, a device or a click: each stands for one alone. */
export const VISITOR_ID_WORDS =
  'userid uid username login customerid clientid distinctid anonymousid anonid deviceid visitorid sessionid gaclientid gasessionid memberid accountid loyaltyid subscriberid contactid leadid personid profileid idfa idfv gaid aaid madid advertisingid fbp fbc fbloginid fbclid gclid gbraid wbraid dclid ttclid ttp msclkid twclid lifatid epik rdtcid rdtuuid sccid scclickid yclid ymclid igshid igsh irclickid clickid mceid mcuid kx hsenc hsmi hssc hstc hubspotutk veroid olyencid olyanonid mkttok ga gid gl gclaw gcldc gclau gclgb gclgs svcdid did uetmsclkid ttcsid criteoid ctobundle pubcid sharedid tdid uid2 euid id5id rampid liverampid permutiveid lotameid ppid hem oaid rida tifa lgudid appsflyerid adjustadid onesignalid brazeid emarsysid intercomid customerioid cioid kissmetricsid heapidentity sfmcsubkey membershipid kundenid numeroclient numerodeclient numclient numerocliente numerodecliente codicecliente codigocliente numeroadherent numerosocio numeroabonne lidnummer';
/** When somebody was born. */
export const BIRTH_WORDS = 'dob dateofbirth birthday birthdate';
/** What identifies a visitor or a device: kept online, where it is what destinations match by, removed in offline mode. */
export const VISITOR_WORDS = `${VISITOR_ID_WORDS} ${BIRTH_WORDS} db gender ge cookie cookies alias`;
/** Ids of one order. */
export const ORDER_ID_WORDS = 'orderid ordernumber orderno transactionid';

/** By what somebody could be found, alone or with what others know: kept online, removed in offline mode. */
export const TRACEABLE_WORDS =
  'anondistinctid previousid previousdistinctid pseudoid userpseudoid amplitudeid mixpaneldistinctid hjid adobemcid ecid mailid kid klaviyoid crmid cid windowid groups groupkey groupid groupset companyid company account customerno customernumber accountnumber accountno membernumber memberno loyaltycard loyaltynumber cardnumber subscriptionid iban ssn passport passportnumber password token jwt secret imei gpsadid androidid mac macaddress guid fingerprint pushtoken fcmtoken devicetoken device plate licenseplate vin lat latitude lng lon long longitude coordinates geo avatar instagram twitter session sid externalids';
/** An id, where it stands in what describes a person. */
export const PERSON_ID_WORDS = 'id';

/** Objects that describe the event's person: what they hold feeds the hashed identifiers. */
export const FEEDING_CONTAINER_WORDS = 'userdata user customer traits set setonce userproperties ud';
/** Objects that describe some person: names in them are removed and feed nothing. */
export const PERSON_CONTAINER_WORDS =
  'person people profile buyer contact client visitor recipient sender guest passenger attendee patient owner member employee lead subscriber billing shipping billto shipto customers users contacts buyers guests passengers attendees';
export const CONTEXT_CONTAINER_WORDS = 'context';

export const EMAIL_ENDING = /(?:email|emailaddress|emailid)(?:e?s)?$/;
/** `phone1`, `phone_home`, `billing-phone-2`, `primaryPhoneNumber`: the word, a number, and what says which phone it is. */
const WHICH =
  '(?:home|work|office|business|private|personal|primary|secondary|main|alt|alternate|alternative|other|second|emergency|day|daytime|evening|mobile|cell|contact|customer|client|user|buyer|guest|member|billing|shipping|delivery|recipient|sender|account|login|signup|lead|raw|full|formatted|international|intl|national|local|input|field|value|e164)*';
const NUMBER = '(?:number|no|num|nr|nummer|numero|numer)?';
const PHONE = '(?:phone|telephone|telefon|telefono|telefone|telefoon)';
const MAYBE_PHONE = '(?:tel|ph|mobile|mob|cell|cel|whatsapp|wa|handy|gsm|mobil|mobiel|celular|movil|fon|fax)';
export const ONE_OF_PHONES = new RegExp(`^${WHICH}${PHONE}${NUMBER}\\d{0,2}${WHICH}${NUMBER}\\d{0,2}$`);
export const ONE_OF_MAYBE_PHONES = new RegExp(`^${WHICH}${MAYBE_PHONE}${NUMBER}\\d{0,2}${WHICH}$`);
/** `ph_no`, `contact_no`, `gsm-nr`: with the word for number a short spelling is sure. */
export const PHONE_AND_NUMBER = new RegExp(
  `^${WHICH}(?:${MAYBE_PHONE}|contact|caller)(?:number|no|num|nr|nummer|numero|numer)\\d{0,2}$`,
);
export const COUNTED = /\d{1,2}$/;
/** What a form's field is called, and what somebody wrote into it: `{ name: 'phone', value: '...' }`. */
export const FIELD_WORDS =
  'name key field attr__name attr__id field_name fieldName field_label fieldLabel field_id fieldId field_type label type inputName input_name inputType input_type id question title property attribute column kind autocomplete Name Key Field Label Type';
export const ANSWER_WORDS =
  'value values attrvalue fieldvalue inputvalue val answer answers response text content input data';
export const PHONE_ENDING = /(?:phone|phonenumber|phoneno|telephone|msisdn|mobilenumber|mobileno)s?$/;
export const NAME_ENDING = /(?:firstname|givenname|forename|lastname|surname|familyname|fullname)s?$/;
export const STREET_ENDING = /(?:streetaddress|addressline\d?|homeaddress|billingaddress|shippingaddress)$/;
export const VISITOR_ENDING =
  /(?:clid|clickid|userid|distinctid|anonymousid|pseudoid|customerid|clientid|deviceid|visitorid|sessionid|memberid)$/;
/** Numbers and keys of a customer or of whoever is one of many, as shops, insurers and mailers have them. */
export const CUSTOMER_ENDING =
  /(?:(?:customer|client|member|membership|loyalty(?:card)?|subscriber|user|visitor|contact|person|patient|employee|student|staff|insurance|crm|player)(?:ids?|uuid|number|no|num|nr|ref|reference|key)|(?:kund(?:en?)?|mitglieds?|klant|asiakas|debitoren|abonnenten|versicherten)(?:nummer|nr|numero)|(?:cookie|browser|machine|hardware|instance|installation|install|persistent|pseudonymous)id|fingerprint(?:id)?)$/;
/** Cookies of the scripts that measure, whose names go on with the site's own number: `_ga_ABC123`, `_hjSessionUser_4711`. */
export const COOKIE_KEY =
  /^__?(?:gac?|gcl|gads|gpi|gl|scid|uet[vs]id|cl[cs]k|hj[a-z]+|pin|pinterest|derived|pk|vwo|shopify|kla|fs|lfa|lr|li|mkto)(?![a-z])/i;
/** What senders write around the word to say in what form the value is. */
export const FORM_PREFIX = /^(?:sha256|hashed|raw|plain)(?=.)/;
export const FORM_SUFFIX = /(?:sha256|hashed|hash|md5|raw|plain)$/;
export const PLURAL = /(?:(?<=s)es|s)$/;

/** What names an article, a part or a book: `sku`, `item_id`, `content_ids`, `g:gtin`, `Artikelnummer`. */
export const ARTICLE_KEY =
  /^(?:id|mpn|jan|isbn\d*|barcodes?|artikel|article|(?:item|product|article|content)(?:variant|code|number)|model(?:number|no))$|(?:gtin|ean|upc)\d{0,2}s?$|skus?$|(?:item|product|content|variant|article|style|part|model|catalog|listing|offer)(?:ids?|no|nr|number|code)$|(?:artikel|bestell|teile|material)(?:nr|nummer)$/;
/** What names one thing among others: no card's number stands under it. */
export const ID_KEY =
  /(?:ids?|uid|uuid|guid|clid|hash|cookie|trace|tracking|invoice|transaction|session|order|variant|campaign|utm(?:term|content)|ref|reference|fbp|fbc|gl|ga)$|(?:order|invoice|tracking|serial|customer|ticket|booking|transaction|receipt|reference|reservation|quote|shipment|parcel|account|member|loyalty|confirmation|case|request|increment)(?:number|num|no|nr|code|key)$/;
