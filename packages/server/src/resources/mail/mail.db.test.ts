import { statement } from '@davit/db';
import { MailSink } from '@davit/testkit/mail-sink';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { mailSenderOf } from '../../background/background.ts';
import { createAccountOf } from '../account/index.ts';
import { TestBrowser, type Answer } from '../account/testing/browser.ts';
import { askForMail, type MailSender } from './index.ts';

/* Mails with links, to a real mail server. */

const publicUrl = 'http://localhost:4440';
let sink: MailSink;
let server: TestServer;
let sender: MailSender;
const warnings: string[] = [];
beforeAll(async () => {
  sink = await MailSink.start();
  server = await startTestServer({
    environment: { DAVIT_SMTP_URL: sink.url, DAVIT_MAIL_FROM: 'Davit <davit@example.org>', DAVIT_PUBLIC_URL: publicUrl },
  });
  const log = { info: (): void => undefined, warn: (_details: object, message: string): number => warnings.push(message) };
  const made = mailSenderOf({ deps: server.api.deps, log });
  if (made === null) throw new Error('no mail is sent');
  sender = made;
  await createAccountOf(server.database.database, 'ada@example.org');
});
afterAll(async () => {
  await sender.stop();
  await server.close();
  await sink.close();
});
beforeEach(async () => {
  await server.database.database.run(forgetMails);
  await server.database.database.run(forgetAttempts);
  sink.received.length = 0;
  warnings.length = 0;
});

const forgetMails = statement('test_mails_forget', 'delete from mail');
const forgetAttempts = statement('test_mail_attempts_forget', 'delete from sign_in_attempt');
const allDue = statement('test_mails_due', 'update mail set due_at = clock_timestamp() where due_at is not null');
const earlierInvitations = statement(
  'test_mail_earlier_invitations',
  `insert into mail (id, kind, recipient, organization_id, due_at, expires_at)
   select gen_random_uuid(), 'INVITATION', 'p' || i || '@example.com', $1, null, clock_timestamp() from generate_series(1, $2::int) i`,
);
const ageOrganization = statement(
  'test_mail_age_organization',
  `update organization set created_at = created_at - interval '2 days' where id = $1`,
);
const mailRows = statement<{ text: string; waiting: number; total: number }>(
  'test_mail_rows',
  `select coalesce(jsonb_agg(to_jsonb(mail)), '[]')::text as text, count(due_at)::int as waiting, count(*)::int as total from mail`,
);
const rows = () => server.database.database.one(mailRows);
const ask = (email: string): Promise<Answer> => new TestBrowser(server).send('POST /passwordReset/request', { email });
const linkIn = (text: string): string => /http:\/\/localhost:4440\/console\/\w+#([\w-]{43})/.exec(text)?.[1] ?? '';

test('who forgot the password gets a link by mail that works once; who has no account gets the same answer', async () => {
  expect((await new TestBrowser(server).send('GET /signIn')).body).toMatchObject({ sends_mail: true });
  const [known, unknown] = [await ask(' ADA@example.org '), await ask('nobody@example.org')];
  expect([known.status, unknown.status]).toEqual([204, 204]);
  expect(known.body).toEqual(unknown.body);
  await sender.idle();
  expect(sink.received).toMatchObject([{ from: 'davit@example.org', to: ['ada@example.org'] }]);
  const text = sink.received[0]?.text ?? '';
  expect(text).toContain('Subject: Set a new password for Davit');
  const body = { token: linkIn(text), password: 'correct horse battery' };
  expect((await new TestBrowser(server).send('POST /passwordReset', body)).status).toBe(200);
  expect((await new TestBrowser(server).send('POST /passwordReset', body)).status).toBe(409);
  // A mail that was sent stays without its text.
  expect(await rows()).toMatchObject({ waiting: 0, total: 2, text: expect.not.stringContaining('\\x') });
});

test('a mail is tried again with the same link, and given up if the recipient is refused', async () => {
  sink.refusals.push(451);
  await ask('ada@example.org');
  await sender.idle();
  expect(sink.received).toEqual([]);
  const { text, waiting } = await rows();
  expect(waiting).toBe(1);
  expect(text).not.toContain('localhost');
  expect(warnings).toEqual(['a mail could not be sent']);
  await server.database.database.run(allDue);
  await sender.idle();
  expect(sink.received).toHaveLength(1);
  sink.refusals.push(550);
  await ask('ada@example.org');
  await sender.idle();
  expect(warnings.at(-1)).toBe('a mail was refused');
  expect(await rows()).toMatchObject({ waiting: 0 });
  expect(sink.received).toHaveLength(1);
});

test('nobody can fill the mailbox of a person, and the one who tries does not learn of the limit', async () => {
  const statuses: number[] = [];
  for (let index = 0; index < 5; index += 1) statuses.push((await ask('ada@example.org')).status);
  expect(statuses).toEqual([204, 204, 204, 204, 204]);
  await sender.idle();
  expect(sink.received).toHaveLength(3);
  // Who goes on is slowed down, for an address without an account as well.
  for (const email of ['ada@example.org', 'nobody@example.org']) {
    let last = 204;
    for (let index = 0; index < 8; index += 1) last = (await ask(email)).status;
    expect(last).toBe(429);
  }
  const foreign = { origin: 'https://evil.example' };
  expect(await new TestBrowser(server).send('POST /passwordReset/request', { email: 'a@b.c' }, foreign)).toMatchObject({
    status: 403,
  });
});

test('an invitation is mailed to the invited address only, unless it is withdrawn before', async () => {
  const { id } = await server.organization('Shop');
  const invite = (email: string) => server.client().call('postInviteMember', { params: { organizationId: id }, body: { email } });
  const shown = await invite('grace@example.org');
  const withdrawn = await invite('heidi@example.org');
  await server.client().call('deleteInviteMember', { params: { organizationId: id, inviteId: withdrawn.id } });
  await invite('x,eve@example.org');
  await sender.idle();
  const mails = sink.received.filter(({ text }) => text.includes('admin invites you to the organization Shop'));
  expect(mails.map(({ to }) => to)).toContainEqual(['grace@example.org']);
  expect(sink.received.flatMap(({ to }) => to)).not.toContain('eve@example.org');
  expect(sink.received.flatMap(({ to }) => to)).not.toContain('heidi@example.org');
  const { text = '' } = mails.find(({ to }) => to[0] === 'grace@example.org') ?? {};
  expect(shown.invitation_link).toContain(linkIn(text));
  expect(linkIn(text)).not.toBe('');
});

test('requests at the same time do not pass the limit of mails', async () => {
  const { database } = server.database;
  const asked = Array.from({ length: 12 }, () =>
    askForMail(database, { kind: 'PASSWORD', recipient: 'ada@example.org', hours: 2 }),
  );
  await Promise.all(asked);
  expect(await rows()).toMatchObject({ total: 3 });
});

test('nobody fills a mailbox with invitations, also by deleting them and through several organizations', async () => {
  const organizations = await Promise.all(['One', 'Two'].map((name) => server.organization(name)));
  const email = 'victim@example.org';
  const invite = async (index: number) => {
    const params = { organizationId: organizations[index % 2]?.id ?? '' };
    const { id } = await server.client().call('postInviteMember', { params, body: { email } });
    await sender.idle();
    await server.client().call('deleteInviteMember', { params: { ...params, inviteId: id } });
  };
  for (let index = 0; index < 5; index += 1) await invite(index);
  await expect(invite(5)).rejects.toMatchObject({
    status: 429,
    code: 'RATE_LIMITED',
    message: expect.stringContaining('one address gets 5 in a day at most. Try again in 86'),
  });
  expect(sink.received).toHaveLength(5);
  // The invitation was not created either.
  const params = { organizationId: organizations[1]?.id ?? '' };
  expect((await server.client().call('getOrganizationInvitedMembers', { params })).results).toEqual([]);
});

test('an organization sends 100 invitations in an hour at most, also at the same time', async () => {
  const { id: organizationId } = await server.organization('Large');
  await server.database.database.run(earlierInvitations, [organizationId, 97]);
  const invited = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) =>
      server.client().call('postInviteMember', { params: { organizationId }, body: { email: `p${index}@example.org` } }),
    ),
  );
  expect(invited.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  const { id: another } = await server.organization('Another');
  await server.client().call('postInviteMember', { params: { organizationId: another }, body: { email: 'q@example.org' } });
});

test('many new organizations get no more than some, and do not stop one that is older', async () => {
  const { database } = server.database;
  const names = ['Fresh', 'Spam', 'More', 'Most', 'Old'];
  const [fresh, spam, more, most, old] = await Promise.all(names.map((name) => server.organization(name)));
  await database.run(ageOrganization, [old?.id]);
  for (const one of [spam, more, most]) await database.run(earlierInvitations, [one?.id, 100]);
  const invite = (organizationId = '') =>
    server.client().call('postInviteMember', { params: { organizationId }, body: { email: 'r@example.org' } });
  await expect(invite(fresh?.id)).rejects.toMatchObject({
    status: 429,
    message: expect.stringContaining('organizations of less than a day together send 300 in an hour'),
  });
  await expect(invite(old?.id)).resolves.toMatchObject({ email: 'r@example.org' });
});

test('without a mail server nobody can ask, and the answer says what to do', async () => {
  const plain = await startTestServer();
  try {
    const browser = new TestBrowser(plain);
    expect((await browser.send('GET /signIn')).body).toMatchObject({ sends_mail: false });
    const answer = await browser.send('POST /passwordReset/request', { email: 'ada@example.org' });
    expect(answer).toMatchObject({ status: 403, body: { message: expect.stringContaining('Ask an administrator') } });
  } finally {
    await plain.close();
  }
});
