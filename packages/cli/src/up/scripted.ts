import path from 'node:path';
import type { Detected, Finder, Folder } from './detected.ts';
import { command, debianPackages, library } from './lines.ts';

/** Extensions that the image of PHP has already. */
const builtIn = new Set(
  'core ctype curl date dom fileinfo filter hash iconv json libxml mbstring mysqlnd openssl pcre pdo pdo_sqlite phar posix random readline reflection session simplexml sodium spl sqlite3 standard tokenizer xml xmlreader xmlwriter zlib'.split(
    ' ',
  ),
);

/** Folders from which frameworks serve pages, so that the rest of the project is not served. */
const webFolders = ['public', 'web', 'webroot', 'htdocs', 'www', 'pub'];

/** Extensions by how sources use them, where no composer.json names them. */
const usesOf: Readonly<Record<string, RegExp>> = {
  mysqli: /\bmysqli(?:_|\()/,
  pdo_mysql: /["']mysql:/,
  pdo_pgsql: /["']pgsql:/,
  pgsql: /\bpg_p?connect\(/,
  gd: /\bimage(?:create|ttf)/,
  zip: /\bnew \\?ZipArchive\b/,
  intl: /\bnew \\?(?:NumberFormatter|IntlDateFormatter|Collator)\b/,
  bcmath: /\bbc(?:add|sub|mul|div|comp)\(/,
  redis: /\bnew \\?Redis\(/,
};

export const php: Finder = async (folder, names) => {
  const pages = ['index.php', ...webFolders.map((one) => `${one}/index.php`)];
  const page = pages.slice(1).find((name) => names.includes(name)) ?? pages.find((name) => names.includes(name));
  // Without a page it is a library, or a program for the command line.
  if (page === undefined) return null;
  const text = (await folder.read('composer.json')) ?? '';
  const { require = {}, config } = parseComposer(text);
  const own = ['composer.json', 'composer.lock', 'symfony.lock'].filter((name) => names.includes(name));
  const wanted = Object.keys(require).flatMap((name) => /^ext-(.+)$/.exec(name.toLowerCase().replace('zend-', ''))?.[1] ?? []);
  // Most frameworks read MySQL or PostgreSQL, and Composer unpacks with zip.
  const usual =
    text === '' ? ['opcache', ...(await usedExtensions(folder, names))] : ['opcache', 'pdo_mysql', 'pdo_pgsql', 'zip'];
  const framework = names.includes('artisan') ? 'laravel' : 'symfony/framework-bundle' in require ? 'symfony' : '';
  // Laravel builds pages by scripts of Node.js.
  const scripts = framework === 'laravel' ? ((await folder.read('package.json')) ?? '') : '';
  const root = path.posix.dirname(page).replace(/^\.$/, '');
  const facts = {
    root,
    // Apache sends what is no file to the page, where no .htaccess does.
    front: String(text !== '' && !names.includes(path.posix.join(root, '.htaccess'))),
    // Packages in folders of the project are installed from there.
    composer: text === '' ? '' : /"type"\s*:\s*"path"/.test(text) ? '.' : own.join(' '),
    extensions: [...new Set([...usual, ...wanted.filter((name) => !builtIn.has(name))])].join(' '),
    framework,
    assets: /"build"\s*:\s*"[^"]*vite/.test(scripts) ? modulesOf(names) : '',
  };
  const platform = /^\d+\.\d+/.exec(config?.platform?.['php'] ?? '')?.[0];
  const because = text === '' ? page : 'composer.json';
  return { language: 'PHP', because, version: platform ?? phpVersion(require['php'] ?? ''), facts };
};

interface ComposerFile {
  readonly require?: Readonly<Record<string, string>>;
  readonly config?: { readonly platform?: Readonly<Record<string, string>> };
}

function parseComposer(text: string): ComposerFile {
  try {
    const value: ComposerFile | null = text === '' ? {} : JSON.parse(text);
    return value ?? {};
  } catch {
    // Composer reports what is wrong with it, when the image is built.
    return {};
  }
}

/** Returns the version that fits a constraint of Composer; null: the newest one does. */
function phpVersion(constraint: string): string | null {
  const last = constraint.split('|').at(-1)?.trim() ?? '';
  const [, major = '', minor] = /(\d+)(?:\.(\d+))?/.exec(last) ?? [];
  if (major === '' || (last.startsWith('>') && !last.includes('<'))) return null;
  // The last minor release of an old major one is what its images can still be built on.
  if (Number(major) < 8) return major === '7' ? '7.4' : '5.6';
  return minor === undefined ? null : `${major}.${minor}`;
}

async function usedExtensions(folder: Folder, names: readonly string[]): Promise<string[]> {
  const texts = await Promise.all(names.filter((name) => name.endsWith('.php')).map((name) => folder.read(name)));
  const all = texts.join('\n');
  return Object.entries(usesOf).flatMap(([name, use]) => (use.test(all) ? [name] : []));
}

/** Settings of frameworks: the log goes where Davit reads it. */
const phpSettings: Readonly<Record<string, string>> = {
  laravel: ' APP_ENV=production LOG_CHANNEL=stderr',
  symfony: ' APP_ENV=prod',
};

export function phpFile({ version, port, facts }: Detected): string {
  const { root = '', composer = '', extensions = '', framework = '', assets = '', front } = facts;
  const install = 'composer install --no-dev --no-interaction --no-progress';
  const early =
    composer === '.'
      ? ''
      : `# Packages are installed again only when these files change.
COPY --chown=www-data ${composer} ./
RUN ${install} --no-scripts --no-autoloader
`;
  const steps =
    composer === ''
      ? 'COPY --chown=www-data . .\n'
      : `${early}COPY --chown=www-data . .
RUN ${install} --optimize-autoloader
`;
  const tool = composer === '' ? '' : `COPY --from=${library}/composer:2 /usr/bin/composer /usr/bin/composer\n`;
  const git = composer === '' ? '' : debianPackages(['git', 'unzip']);
  const built =
    assets === ''
      ? ''
      : `FROM ${library}/node:24-slim AS assets
WORKDIR /app
COPY . .
RUN ${assets} && npm run build

`;
  const taken = assets === '' ? '' : 'COPY --from=assets --chown=www-data /app/public/build public/build\n';
  const isFront =
    front === 'true' ? " \\\n && echo 'FallbackResource /index.php' > /etc/apache2/conf-enabled/front-controller.conf" : '';
  const site = '/etc/apache2/sites-available/000-default.conf';
  const setRoot = root === '' ? '' : ` -e 's#/var/www/html#/var/www/html/${root}#'`;
  return `${built}FROM ${library}/php:${version ?? '8.4'}-apache
# Apache serves the files on this port, with the rules of .htaccess files.
ENV PORT=${port}${phpSettings[framework] ?? ''}${composer === '' ? '' : ' COMPOSER_HOME=/tmp/composer'}
RUN sed -ri 's#^Listen 80$#Listen \${PORT}#' /etc/apache2/ports.conf \\
 && sed -ri -e 's#:80>#:\${PORT}>#'${setRoot} ${site} && a2enmod rewrite \\
 && mv "$PHP_INI_DIR/php.ini-production" "$PHP_INI_DIR/php.ini"${isFront}
# Extensions, with the libraries that they need.
COPY --from=docker.io/mlocati/php-extension-installer:2 /usr/bin/install-php-extensions /usr/local/bin/
RUN install-php-extensions ${extensions}
${tool}${git}WORKDIR /var/www/html
USER www-data
${steps}${taken}EXPOSE ${port}`;
}

/** Packages of Debian with the libraries that gems load. The image that is not slim has what they are built with. */
const rubyLibraries: Readonly<Record<string, string>> = {
  pg: 'libpq5',
  mysql2: 'libmariadb3',
  'ruby-vips': 'libvips42',
  image_processing: 'libvips42',
};

export const ruby: Finder = async (folder, names) => {
  const text = await folder.read('Gemfile');
  if (text === null) return null;
  // Bundler refuses any other patch than the one that the Gemfile names.
  const exact = /^ruby ["'](\d+\.\d+\.\d+)["']/m.exec(text)?.[1];
  const version = (await folder.read('.ruby-version')) ?? /^ruby ["'][^\d"']*(\d+\.\d+)/m.exec(text)?.[1] ?? '';
  const isRails = names.includes('bin/rails') || /^\s*gem ["']rails["']/m.test(text);
  const lock = (await folder.read('Gemfile.lock')) ?? '';
  const platforms = /^PLATFORMS\r?\n((?: .*\r?\n?)*)/m.exec(lock)?.[1];
  const isForLinux = names.includes('Gemfile.lock') && (platforms === undefined || /\b(?:ruby|linux)\b/.test(platforms));
  const gems = `${text}\n${lock}`;
  const has = (gem: string): boolean => new RegExp(`^\\s*(?:gem ["']${gem}["']|${gem} \\()`, 'm').test(gems);
  const program = names.find((name) => ['app.rb', 'server.rb', 'main.rb'].includes(name));
  const rack = has('puma') ? 'puma --bind tcp://0.0.0.0:$PORT' : 'rackup --host 0.0.0.0 --port $PORT';
  const start = isRails
    ? 'rails server --binding 0.0.0.0 --port $PORT'
    : names.includes('config.ru')
      ? rack
      : program && `ruby ${program}`;
  if (start === undefined) return null;
  const hasAssets = isRails && ['sprockets-rails', 'sprockets', 'propshaft', 'webpacker', 'shakapacker', 'vite_rails'].some(has);
  const facts = {
    start: `bundle exec ${start}`,
    files: ['Gemfile', 'Gemfile.lock', '.ruby-version'].filter((name) => names.includes(name)).join(' '),
    // Bundler refuses a lock file that was only resolved for another system, unless it may add this one.
    frozen: isForLinux ? 'BUNDLE_DEPLOYMENT=1 ' : '',
    cache: names.some((name) => /^vendor\/cache\/.*\.gem$/.test(name)) ? 'vendor/cache' : '',
    // Gems in folders of the project are installed from there.
    isLocal: String(/\bpath:|:path =>|^\s*gemspec/m.test(text)),
    rails: isRails ? 'true' : '',
    assets: String(hasAssets),
    modules: hasAssets && names.includes('package.json') ? modulesOf(names) : '',
    packages: [...new Set(Object.entries(rubyLibraries).flatMap(([gem, name]) => (has(gem) ? name : [])))].join(' '),
  };
  return { language: 'Ruby', because: 'Gemfile', version: exact ?? /\d+\.\d+(?:\.\d+)?/.exec(version)?.[0] ?? null, facts };
};

/** Returns the command that installs the packages of Node.js that build pages, with the lock file if there is one. */
function modulesOf(names: readonly string[]): string {
  if (names.includes('yarn.lock')) return 'yarn install --frozen-lockfile';
  return names.includes('package-lock.json') ? 'npm ci' : 'npm install';
}

export function rubyFile({ version, port, facts }: Detected): string {
  const {
    start = '',
    files = 'Gemfile',
    frozen = '',
    cache = '',
    isLocal,
    rails = '',
    assets,
    modules = '',
    packages = '',
  } = facts;
  const release = version ?? '3.4';
  const gems = cache === '' ? '' : `COPY ${cache} ${cache}\n`;
  const early =
    isLocal === 'true'
      ? 'COPY . .\nRUN bundle install\n'
      : `# Gems are installed again only when these files change.\nCOPY ${files} ./\n${gems}RUN bundle install\nCOPY . .\n`;
  const tools = modules === '' ? '' : debianPackages(['nodejs', 'npm']);
  // Images of Node.js have Yarn; packages of Debian do not.
  const yarn = modules.startsWith('yarn ') ? 'npm install --global yarn && ' : '';
  const keys = 'SECRET_KEY_BASE_DUMMY=1 SECRET_KEY_BASE=for-the-build-only';
  const compile =
    assets === 'true'
      ? `RUN ${yarn}${modules === '' ? '' : `${modules} && `}RAILS_ENV=production ${keys} bundle exec rails assets:precompile && rm -rf node_modules\n`
      : '';
  const bundle = `${frozen}BUNDLE_PATH=/usr/local/bundle BUNDLE_WITHOUT=development:test`;
  const settings = rails === '' ? '' : ' RAILS_ENV=production RAILS_LOG_TO_STDOUT=1 RAILS_SERVE_STATIC_FILES=1';
  return `FROM ${library}/ruby:${release} AS build
WORKDIR /app
ENV ${bundle}
${tools}${early}${compile}
# Without what only the installation needs.
FROM ${library}/ruby:${release}-slim
${debianPackages(packages.split(' ').filter((one) => one !== ''))}RUN useradd --create-home app
WORKDIR /app
RUN chown app .
ENV ${bundle}
COPY --from=build /usr/local/bundle /usr/local/bundle
COPY --from=build --chown=app /app ./
USER app
ENV PORT=${port} RACK_ENV=production${settings}
EXPOSE ${port}
CMD ${command(start)}`;
}
