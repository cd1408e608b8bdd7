export { askForMail, queueInvitation, trimMails, type Mail } from './outbox.ts';
export { MailSender } from './sender.ts';
